"""The HTTP layer. Only this package depends on HTTP."""
