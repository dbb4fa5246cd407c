"""Reads runs, tables and columns."""
