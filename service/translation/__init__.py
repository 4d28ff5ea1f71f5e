"""Split texts into sentences, translate them and join the translations; independent of HTTP."""
