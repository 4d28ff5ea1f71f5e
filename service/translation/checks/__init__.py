"""Report what a translation says otherwise than its source."""
