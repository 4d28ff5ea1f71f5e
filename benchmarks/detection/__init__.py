"""Detection of short texts: make the table of word counts, fit its weights, measure it."""
