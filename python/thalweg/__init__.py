"""Records detector data from many producers into one ordinary HDF5 file, at the speed of the disk."""

from thalweg import _core

__all__ = ["__version__"]

__version__ = _core.version()
