"""Tracing the I/O of any program, and saying where its time goes.

`tracer` runs a command with the library of thalweg/interpose and writes what it records; `trace_file` reads that again;
`verdict` and `rules` say what it means; `topology` measures the way from core to core.
"""
