"""Bring a model into the store: from the Hub, an address, this machine, or the bundled ones."""

from service.model_pull.pull import Source, pull

__all__ = ["Source", "pull"]
