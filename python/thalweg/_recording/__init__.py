"""Runs `thalweg record`: producer processes read sources and write one run, with live progress and metrics."""
