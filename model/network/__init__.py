"""The Transformer: configuration, layers, and the whole network."""
