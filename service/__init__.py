"""The HTTP server and its engines; the interface to model/ passes plain Python values."""

__version__ = "0.1.0"
