"""Judges variables of the environment that HDF5 and MPI-IO read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from thalweg._explain import open_mpi
from thalweg._explain.judged import Judged
from thalweg._trace.trace_file import Trace

Said = tuple[str, str]
# mpiexec and mpirun set these variables themselves: for Open MPI, nearly all except those of its file components.
_OF_LAUNCHERS = re.compile(r"MPIR_CVAR_CH3_INTERFACE_HOSTNAME|OMPI_MCA_(?!(io|fs|fbtl|fcoll|sharedfp|mpi_yield)(_|$))")
_AGGREGATION = ("ROMIO_WRITE_AGGMETHOD", "ROMIO_READ_AGGMETHOD")


def variables(trace: Trace) -> Iterator[Judged]:
    """Yields each variable once, even if all ranks have it."""
    processes: dict[tuple[str, str], set[int]] = {}
    for each in trace.settings:
        is_set = each["origin"] == "environment" and not _OF_LAUNCHERS.match(each["name"])
        if is_set and each["process"] not in trace.launchers:
            processes.setdefault((each["name"], each["value"]), set()).add(each["process"])
    for (name, asked), some in sorted(processes.items()):
        state, why, reported = _state(trace, name, asked, some)
        yield Judged("variable", "", name, asked, reported, state, why)


def _state(trace: Trace, name: str, asked: str, processes: set[int]) -> tuple[str, str, str | None]:
    library = "hdf5" if name.startswith("HDF5_") else "mpi"
    if library not in trace.recorded:
        return "cannot be told", f"level {library} was not traced", None
    calls = trace.levels[library]
    mine = calls.where(np.isin(calls.process, sorted(processes)))
    opens = mine.where((mine.kind == "open") & (mine.file > 0))
    if not len(opens):
        return "inert", f"no file was opened with {'HDF5' if library == 'hdf5' else 'MPI-IO'}", None
    if name == "HDF5_USE_FILE_LOCKING":
        return *_locking(trace, asked, set(np.unique(opens.file))), None
    says = _says(trace)
    mpi = " ".join(trace.report.get("libraries", []))
    if mpi and name.startswith("OMPI_MCA_") and "Open MPI" not in mpi:
        return "inert", f"it belongs to Open MPI, and the library is {mpi[:40]}", None
    if mpi and name.startswith(("MPIR_CVAR_", "MPICH_")) and "MPICH" not in mpi:
        return "inert", f"it belongs to MPICH, and the library is {mpi[:40]}", None
    if said := open_mpi.state_of_variable(trace, name, asked, sorted(set(opens.file.tolist()))):
        return *said, None
    if name == "ROMIO_HINTS":
        return *_hints_file(trace, asked), None
    if name == "ROMIO_FSTYPE_FORCE" and "romio_filesystem_type" in says:
        reported = says["romio_filesystem_type"]
        wanted = asked.rstrip(":").lower()
        is_it = wanted in reported.lower() or wanted in reported.lower().replace("generic", "ufs")
        return "in effect" if is_it else "overruled", f"the file system is {reported}", reported
    system = says.get("romio_filesystem_type", "")
    if name in _AGGREGATION and system and not any(word in system.upper() for word in ("GPFS", "LUSTRE")):
        return "inert", f"only the drivers for GPFS and Lustre read it, and the file system is {system}", None
    return "cannot be told", "the calls do not show it", None


def _says(trace: Trace) -> dict[str, str]:
    return {each["name"]: each["value"] for each in trace.settings if each["origin"] == "reported"}


def _locking(trace: Trace, asked: str, files: set[int]) -> Said:
    if "posix" not in trace.recorded:
        return "cannot be told", "level posix was not traced"
    locks = trace.posix.where((trace.posix.name == "flock") & (trace.posix.depth > 0))
    was_locked = bool(np.isin(locks.file, sorted(files)).any())
    if asked.upper() in ("FALSE", "0"):
        return ("overruled", "files were locked") if was_locked else ("in effect", "no file was locked")
    return ("in effect", "files were locked") if was_locked else ("overruled", "no file was locked")


def _hints_file(trace: Trace, asked: str) -> Said:
    name = PurePath(asked).name
    opens = trace.posix.where(trace.posix.kind == "open")
    tried = [
        bool(error)
        for error, number in zip(opens.error, opens.file, strict=True)
        if PurePath(trace.files[int(number)]).name == name
    ]
    if "posix" not in trace.recorded:
        return "cannot be told", "level posix was not traced"
    if not tried:
        return "inert", "no process opened that file"
    if all(tried):
        return "inert", "it could not be opened"
    hints = [each for each in trace.settings if each["origin"] == "hints file"]
    says = _says(trace)
    if "romio_filesystem_type" in says and hints and not any(each["name"] in says for each in hints):
        return "inert", "the library knows none of the names in it"
    return "in effect", "a rank has read it; its hints are judged one by one if they are reported"
