"""Runs the subcommands of `thalweg readout`."""
