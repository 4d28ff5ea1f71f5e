"""Numbers, times and units that networks get wrong: where they are, and how they are read or
written instead."""
