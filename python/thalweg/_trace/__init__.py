"""Runs `thalweg trace`: `tracer` runs a command with the library of thalweg/interpose and writes the trace.

`trace_file` loads a trace, `account` sums up the time, and `export` converts a trace for timeline viewers.
"""
