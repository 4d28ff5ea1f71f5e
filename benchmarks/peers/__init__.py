"""What Dragoman is compared with, and the same model in everybody's format."""
