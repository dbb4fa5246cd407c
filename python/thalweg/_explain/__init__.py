"""Runs `thalweg explain`: `verdict` and `rules` evaluate a trace of `thalweg._trace`."""
