"""What the figures of the README and the documentation are measured with."""
