"""Checkpoints of ours as other programs read them."""
