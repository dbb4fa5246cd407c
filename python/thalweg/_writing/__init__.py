"""Writes runs: producers, work units, writers and their reports."""
