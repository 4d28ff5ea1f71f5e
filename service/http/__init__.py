"""The HTTP surface. Nothing below it knows HTTP."""
