"""Import checkpoints of other model families; one file per family."""
