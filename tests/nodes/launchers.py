"""How ranks in Python are started: by the MPICH of PyPI, or by Debian's Open MPI, also on simulated machines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from machines import Machine

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


# What ssh is for Open MPI elsewhere.
_AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
case $1 in
%s
esac
export TMPDIR="%s/$1"
mkdir -p "$TMPDIR"
shift
exec $enter /bin/sh -c "cd '$PWD'; $*"
"""


# Each rank goes to its machine by itself; MPICH takes all for machines of their own, which have no memory in common.
_RANK = """#!/bin/sh
case $PMI_RANK in
%s
esac
exec $enter "$@"
"""


def mpich_on(machines: Sequence[Machine], ranks: Sequence[int], folder: Path) -> Launcher:
    """One rank on each of these machines, by their numbers from 0."""
    there, rank = launcher("mpich"), folder / "rank"
    places = [f'{number}) enter="{" ".join(machines[place].enter)}";;' for number, place in enumerate(ranks)]
    rank.write_text(_RANK % "\n".join(places))
    rank.chmod(0o755)
    return Launcher([*there.command, "-n", str(len(ranks)), str(rank)], {"MPIR_CVAR_NOLOCAL": "1"})


def open_mpi_on(machines: Sequence[Machine], ranks: int, folder: Path) -> Launcher:
    """So many ranks on each of them. folder: for what Open MPI needs there."""
    agent = folder / "agent"
    places = [f'{machine.name}) enter="{" ".join(machine.enter)}";;' for machine in machines]
    agent.write_text(_AGENT % ("\n".join(places), folder))
    agent.chmod(0o755)
    options = {"plm_rsh_agent": agent, "oob_tcp_if_include": "lo", "btl_tcp_if_include": "lo", "btl": "self,vader,tcp"}
    words = [word for name, value in options.items() for word in ("--mca", name, str(value))]
    hosts = ",".join(f"{machine.name}:{ranks}" for machine in machines)
    there = launcher("openmpi")
    environment = [word for each in there.environment.items() for word in ("-x", "=".join(each))]
    return Launcher([*there.command, *words, "--bind-to", "none", "-host", hosts, *environment], there.environment)
