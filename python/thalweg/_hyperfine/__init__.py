"""Hyperfine fields: how they turn the spins of nuclei, and what detectors at given places see of it."""
