"""What only a GPU can tell, in five minutes: `python -m benchmarks.gpu`."""
