"""The engine: batches the sentences of all requests at every decode step. Knows no HTTP."""
