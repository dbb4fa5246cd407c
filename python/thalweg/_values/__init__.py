"""Rows in memory, and what they are converted to and from."""
