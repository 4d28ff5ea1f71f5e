"""Metrics and log format."""
