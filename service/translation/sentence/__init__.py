"""Take a text apart into sentences that the network reads, and write the translations back."""
