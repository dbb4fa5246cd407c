"""Verifying: what the core compares, and beside it the columns that only h5py reads, in a process of their own."""

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
from thalweg._base.given import MOST_THREADS, integer_of, path_of
from thalweg._base.paths import Path
from thalweg._files.open import external_folders
from thalweg._files.verification import Verification
from thalweg._schema.left_out import LeftOut

_MOST_MESSAGES = 100


def verify(path: Path, *, threads: int = 0, external: Path | Iterable[Path] = ()) -> Verification:
    """Compares every stored byte with what was written. Raises as `open` does; faults are in the result.

    Of a file of another program every page is decoded, and what only h5py reads is read by a process of its own,
    because libhdf5 may crash on damaged files, or come to no end. Ctrl-C ends it at once. external: as `open` takes it.
    """
    name, folders = path_of(path), external_folders(external)
    count = integer_of(threads, "threads", most=MOST_THREADS)
    return with_h5py(Verification.of(_core.verify(name, count), path=name), folders)


def with_h5py(found: Verification, external: tuple[str, ...] = ()) -> Verification:
    """And what h5py reads of what was left out, where it is installed."""
    if not found.problems or find_spec("h5py") is None or not sys.executable:
        return found
    words = [sys.executable, "-m", "thalweg._files.hdf5_check", os.path.abspath(found.path), *external]
    child = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = [json.loads(line) for line in child.stdout.decode().splitlines() if line.endswith("}")]
    if any("nothing" in each for each in lines):
        return found
    checked = [each["column"] for each in lines if "column" in each]
    faults = [each["fault"] for each in lines if "fault" in each]
    problems: tuple[LeftOut, ...] | None = None
    for each in lines:
        if "problems" in each:
            problems = tuple(LeftOut(*problem) for problem in each["problems"])
    if problems is None or child.returncode:
        where = next((f" while it read {each['begun']}" for each in reversed(lines) if "begun" in each), "")
        faults.append(f"what only h5py reads cannot be checked: {_how_it_ended(child.returncode)}{where}")
    return replace(
        found,
        faults=found.faults + len(faults),
        messages=(*found.messages, *faults)[:_MOST_MESSAGES],
        problems=found.problems if problems is None else problems,
        read_by_h5py=tuple(checked),
        read_without_checksum=tuple(each["column"] for each in lines if each.get("has_checksum") is False),
    )


def _how_it_ended(code: int) -> str:
    if code in (-signal.SIGPROF, -signal.SIGXCPU):
        return "it came to no end"
    return f"it crashed ({signal.Signals(-code).name})" if code < 0 else f"it ended with exit code {code}"
