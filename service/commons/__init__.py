"""What the front ends of a server count and keep in common."""
