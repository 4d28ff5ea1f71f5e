"""Export checkpoints to the formats of other programs."""
