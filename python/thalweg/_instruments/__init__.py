"""Slow instruments of usual kinds. Each needs a library that is an extra of the package."""
