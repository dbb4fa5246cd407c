"""Tries I/O settings on a command that stays as it is: `thalweg tune`."""
