"""Records detector data from many producers into one ordinary HDF5 file, at the speed of the disk."""

from thalweg._core import __version__

__all__ = ["__version__"]
