"""Files to translate: each format is taken apart into segments, and written back around them."""
