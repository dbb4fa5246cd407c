"""Rows in memory, and their conversion to and from other libraries."""
