"""Questions that anybody can ask again of their own machine: what runs under `thalweg study`."""
