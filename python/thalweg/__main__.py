"""`python -m thalweg` is the command `thalweg`, where no script is on the path."""

from thalweg.cli import main

if __name__ == "__main__":
    main()
