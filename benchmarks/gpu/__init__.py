"""What only a GPU can tell, in ten minutes: `python -m benchmarks.gpu`."""
