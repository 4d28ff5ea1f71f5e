"""Checkpoints of other families as ours: one file a family, all onto the one Transformer."""
