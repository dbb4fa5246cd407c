"""Converts appended rows to flat columns."""
