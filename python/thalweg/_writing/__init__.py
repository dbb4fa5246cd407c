"""Runs that are written: producers, work units, writers."""
