"""Compiles sources in C for tests."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PULSER = REPOSITORY / "examples/source/pulser.c"
FAULTY = REPOSITORY / "tests/standins/plug_in/faulty.c"
AQMD3 = REPOSITORY / "tests/standins/aqmd3/aqmd3.c"
FELIB = REPOSITORY / "tests/standins/felib/felib.c"


def compiled(source: Path, folder: Path, *flags: str, standard: str = "c99") -> Path:
    """Returns a shared library that is made of a source in C."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    library = folder / f"lib{'_'.join([source.stem, *flags]).replace('-D', '').lower()}.so"
    if not library.exists():
        words = [
            compiler,
            f"-std={standard}",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-Wno-unused-function",
            "-shared",
            "-fPIC",
            *flags,
        ]
        words += ["-I", str(REPOSITORY / "include"), "-o", str(library), str(source), "-lpthread", "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return library
