"""Parts of a step as one GPU kernel each, written in Triton: fast paths beside the PyTorch path.

Only `paths` may be imported without Triton. Not yet measured on a GPU.
"""
