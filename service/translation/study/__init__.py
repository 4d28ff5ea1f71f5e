"""The network at work, for people who study a translation: next words, attention and search."""
