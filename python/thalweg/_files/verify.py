"""Verifies files: the core compares pages, and a separate process reads what only h5py or uproot can read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec

from thalweg import _core
from thalweg._base.errors import Error
from thalweg._base.given import MOST_THREADS, integer_of, path_of
from thalweg._base.paths import Path
from thalweg._files.open import external_folders
from thalweg._files.verification import Verification
from thalweg._schema.left_out import LeftOut

_MOST_MESSAGES = 100


def verify(path: Path, *, threads: int = 0, external: Path | Iterable[Path] = ()) -> Verification:
    """Checks every stored byte against its checksum. Faults are in the result. Raises what `open` raises.

    In a file of another program, every page is decoded. What only h5py or uproot can read is read in a separate
    process, because libhdf5 may crash or hang on damaged files. Ctrl-C ends it at once.

    threads: the number of threads; 0: one for each usable core.
    external: the same as in `open`.
    """
    name, folders = path_of(path), external_folders(external)
    count = integer_of(threads, "threads", most=MOST_THREADS)
    return verified_by_others(verification_of(_core.verify(name, count), name), folders)


def verification_of(found: _core.Verification, path: str) -> Verification:
    """Returns what the core has found, and whether a process still writes the run."""
    writers = _writers_of(path) if found.is_open else "none"
    return Verification.of(found, path=path, writers=writers)


def _writers_of(path: str) -> str:
    try:
        return str(_core.writers_of(path))
    except Error as error:  # the memory of the run may belong to another user
        return f"it cannot be seen whether a process writes it ({error})"


def verified_by_others(found: Verification, external: tuple[str, ...] = ()) -> Verification:
    """Adds what h5py and uproot, if they are installed, read of the objects that the core left out."""
    if not found.problems or not (find_spec("h5py") or find_spec("uproot")) or not sys.executable:
        return found
    words = [sys.executable, "-m", "thalweg._files.others_check", os.path.abspath(found.path), *external]
    child = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = [json.loads(line) for line in child.stdout.decode().splitlines() if line.endswith("}")]
    if any("nothing" in each for each in lines):
        return found
    checked = {
        reader: tuple(each["column"] for each in lines if each.get("reader") == reader) for reader in ("h5py", "uproot")
    }
    faults = [each["fault"] for each in lines if "fault" in each]
    problems: tuple[LeftOut, ...] | None = None
    for each in lines:
        if "problems" in each:
            problems = tuple(LeftOut(*problem) for problem in each["problems"])
    if problems is None or child.returncode:
        where = next((f" while it read {each['begun']}" for each in reversed(lines) if "begun" in each), "")
        faults.append(
            f"the columns that only h5py or uproot reads cannot be checked: {_how_it_ended(child.returncode)}{where}"
        )
    return replace(
        found,
        faults=found.faults + len(faults),
        messages=(*found.messages, *faults)[:_MOST_MESSAGES],
        problems=found.problems if problems is None else problems,
        read_by_h5py=checked["h5py"],
        read_by_uproot=checked["uproot"],
        read_without_checksum=tuple(each["column"] for each in lines if each.get("has_checksum") is False),
    )


def _how_it_ended(code: int) -> str:
    if code in (-signal.SIGPROF, -signal.SIGXCPU):
        return "the library took too long"
    return f"it crashed ({signal.Signals(-code).name})" if code < 0 else f"it ended with exit code {code}"
