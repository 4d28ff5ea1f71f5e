"""What is tried before it is trusted: a checkpoint, the fast paths, the cost of a step."""
