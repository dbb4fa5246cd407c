"""Files of other programs, read by h5py and uproot."""
