"""From texts to sentences, through models, and back to texts. Knows no HTTP."""
