"""Whole files: opened, recovered, verified, merged, converted."""
