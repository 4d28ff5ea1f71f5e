"""Beam search and sampling for many sentences at once."""
