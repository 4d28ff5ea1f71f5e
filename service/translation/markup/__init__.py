"""HTML and XML: scan it, find its text, and put its tags into the translation."""
