"""Opponents in C++ that use ROOT, of the package that PyPI has."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from harness.programs import REPOSITORY, MissingError, call


def build_with_root(source: Path, program: Path, libraries: Sequence[str] = ()) -> None:
    """ROOT's interfaces in Python take longer than its work; these programs are C++."""
    found = importlib.util.find_spec("ROOT")
    if found is None or found.origin is None:
        raise MissingError("the package root is not installed")
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return
    root = Path(found.origin).parent
    library = root / "lib"
    flags = ["-std=c++20", "-O2", "-pthread", f"-I{root / 'include'}", f"-I{REPOSITORY}", f"-L{library}"]
    links = ["-lCore", "-lROOTNTuple", "-lRIO", *(f"-l{name}" for name in libraries)]
    paths = [f"-Wl,-rpath,{library}", f"-Wl,-rpath-link,{library}", f"-Wl,-rpath-link,{root.parent / 'root.libs'}"]
    call(["g++", *flags, "-o", str(program), str(source), *links, *paths])
