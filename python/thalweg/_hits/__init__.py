"""Hits of detectors: read side by side, their energies in histograms, the peaks in these."""
