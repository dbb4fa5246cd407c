"""Runs the handlers of one host as child processes: `thalweg readout host` (docs/readout-deployment.md)."""
