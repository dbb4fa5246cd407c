"""The page of `thalweg watch`: what a run has so far, as it grows."""
