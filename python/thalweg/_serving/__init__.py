"""Shows the runs of a folder over HTTP: `thalweg serve`."""
