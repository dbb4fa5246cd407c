"""Runs, tables and columns that are read."""
