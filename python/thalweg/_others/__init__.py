"""Reads files of other programs through h5py and uproot."""
