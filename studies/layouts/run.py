"""run.py [OPTIONS]: runs the study and writes its answers into README.md beside it, or, with --out, into a folder.

It goes on where it was interrupted; --fresh begins anew.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder of all studies, which are no package

from layouts.command import app  # noqa: E402

from thalweg.cli import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run(app, "run.py"))
