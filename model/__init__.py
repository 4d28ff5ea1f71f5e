"""The network, its checkpoints, and how to decode with it; usable offline."""
