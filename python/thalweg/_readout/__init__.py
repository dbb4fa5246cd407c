"""What `thalweg readout` runs."""
