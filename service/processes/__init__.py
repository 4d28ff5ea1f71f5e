"""The processes of a server: a parent that watches, front ends that speak HTTP, and engines."""
