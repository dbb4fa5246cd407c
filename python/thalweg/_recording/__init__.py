"""What `thalweg record` does: sources in processes of their own, one run, live numbers about it."""
