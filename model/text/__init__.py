"""Tokens, vocabularies and language codes."""
