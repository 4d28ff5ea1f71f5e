"""The network and its search as PyTorch operations: for GPUs, and the reference on the CPU."""
