"""The backends that compute the network: PyTorch, CUDA graphs, C++ for CPUs."""
