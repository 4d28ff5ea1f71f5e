"""The HTTP surface, one module a concern. Routes know schemas; the engine does not."""
