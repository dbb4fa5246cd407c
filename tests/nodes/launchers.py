"""How ranks in Python are started: by the MPICH of PyPI, or by Debian's Open MPI."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# By itself Open MPI refuses more ranks than cores, and to be run by root.
OPEN_MPI = ["mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root"]


@dataclass(frozen=True)
class Launcher:
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def launcher(name: str) -> Launcher:
    """Skips the test where that MPI, or mpi4py, is not there."""
    if name == "openmpi":
        if shutil.which(OPEN_MPI[0]) is None:
            pytest.skip("Debian's openmpi-bin and libopenmpi-dev are not installed")
        pytest.importorskip("mpi4py", reason="mpi4py is not installed")
        return Launcher(OPEN_MPI, {"MPI4PY_MPIABI": "openmpi"})
    mpi = pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed, or finds no MPI")
    found = Path(sys.executable).with_name("mpiexec")
    if "MPICH" not in mpi.Get_library_version() or not found.exists():
        pytest.skip("PyPI's mpich is not installed")
    return Launcher([str(found)])
