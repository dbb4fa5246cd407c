"""What `thalweg trace` runs: `tracer` starts a command with the library of thalweg/interpose, and writes its records.

`trace_file` reads them again, `account` adds up where time went, and `export` writes them for other viewers.
"""
