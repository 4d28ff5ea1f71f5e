"""The code that computes the network: PyTorch, CUDA graphs, C++ for CPUs."""
