"""Runs the command `thalweg` as `python -m thalweg`."""

from thalweg.cli import main

if __name__ == "__main__":
    main()
