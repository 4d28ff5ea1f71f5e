"""The server: HTTP in front, one engine thread behind, plain Python across the seam to model/."""

__version__ = "0.1.0"
