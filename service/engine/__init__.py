"""The engine batches the sentences of all requests at every decode step. It has no HTTP code."""
