"""Traces the I/O of any program and shows where its time goes.

`tracer` runs a command with the library of thalweg/interpose and writes the trace; `trace_file` loads a trace;
`verdict` and `rules` evaluate it.
"""
