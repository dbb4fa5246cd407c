"""What a run did to each file: counts that are equal in every run of the same command, however busy the machine is."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._trace.calls import Seconds
from thalweg._trace.trace_file import Trace
from thalweg._tune.outputs import PREFIX

_COUNTED = {"read": "reads", "write": "writes", "lock": "locks", "open": "opens", "sync": "syncs"}


@dataclass(frozen=True)
class FileAccount:
    """The calls of one file, of the levels posix and stdio."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    written_bytes: int = 0
    locks: int = 0
    opens: int = 0
    syncs: int = 0
    writers: tuple[str, ...] = ()
    size_bytes: int = 0

    def changes(self, now: FileAccount) -> list[str]:
        """Returns what is other now, in words."""
        found = []
        for name in ("writes", "reads", "locks", "opens", "syncs"):
            before, after = getattr(self, name), getattr(now, name)
            if before != after:
                found.append(f"{name} {before:,} → {after:,}")
        for name, what in (("written_bytes", "bytes written"), ("read_bytes", "bytes read"), ("size_bytes", "size")):
            before, after = getattr(self, name), getattr(now, name)
            if before != after:
                found.append(f"{what} {as_bytes(before)} → {as_bytes(after)}")
        if self.writers != now.writers:
            found.append(f"written by {_who(self.writers)} → {_who(now.writers)}")
        return found


Accounts = Mapping[str, FileAccount]


def as_facts(accounts: Accounts) -> dict[str, Any]:
    return {name: vars(each) for name, each in accounts.items()}


def of_facts(facts: Mapping[str, Any]) -> dict[str, FileAccount]:
    return {name: FileAccount(**each | {"writers": tuple(each["writers"])}) for name, each in facts.items()}


def accounts(trace: Trace, folder: Path) -> dict[str, FileAccount]:
    """Returns an account of each file below the folder that the command read or wrote."""
    found: dict[str, FileAccount] = {}
    levels = [trace.on_disk(trace.levels[level]) for level in ("posix", "stdio")]
    for number, path in enumerate(trace.files):
        name = below(path, folder)
        if name is None:
            continue
        counts = dict.fromkeys((*_COUNTED.values(), "read_bytes", "written_bytes"), 0)
        writers: set[str] = set()
        for calls in levels:
            mine = calls.where(calls.file == number)
            for kind, what in _COUNTED.items():
                counts[what] += int((mine.kind == kind).sum())
            counts["read_bytes"] += int(mine.moved[mine.kind == "read"].sum())
            counts["written_bytes"] += int(mine.moved[mine.kind == "write"].sum())
            writes = mine.where(mine.kind == "write")
            writers |= {f"rank {rank}" if rank >= 0 else "" for rank in np.unique(writes.rank)}
            if (writes.rank < 0).any():
                writers |= {f"process {i + 1}" for i in range(len(np.unique(writes.process)))}
        if any(counts.values()):
            size = Path(folder, name).stat().st_size if Path(folder, name).is_file() else 0
            known = found.get(name)
            account = FileAccount(**counts, writers=tuple(sorted(writers - {""})), size_bytes=size)
            found[name] = account if known is None else _sum(known, account)
    return found


def failed_write(trace: Trace, folder: Path) -> str:
    """Returns the first write of a file below the folder that had no room, or wrote less than it was given, which a
    command may not say; empty: there is none."""
    for level in ("posix", "stdio"):
        calls = trace.on_disk(trace.levels[level])
        failed = np.isin(calls.error, (errno.ENOSPC, errno.EDQUOT))
        if level == "stdio":  # a system call may be followed by another one, with the rest
            failed |= (calls.kind == "write") & (calls.result >= 0) & (calls.result < calls.size)
        for place in np.flatnonzero(failed):
            name = below(trace.files[calls.file[place]], folder)
            if name is not None:
                call = calls.where(np.array([place]))
                few = f"{int(call.result[0]):,} of {int(call.size[0]):,} bytes were written, as on a full disk"
                why = os.strerror(int(call.error[0])) if call.error[0] else few
                return f"a write of {name} failed ({why}), and the command has not said that"
    return ""


def seconds_of_io(trace: Trace, folder: Path) -> tuple[float, float]:
    """Returns the longest time that a process is in calls of files below the folder, where calls within others count
    once, and the time of that process from its first call to its last, as `thalweg explain` tells it."""
    is_here = np.array([below(path, folder) is not None for path in trace.files], bool)
    longest = elapsed = 0.0
    for process in range(len(trace.processes)):
        mine = [calls.where((calls.process == process) & is_here[calls.file]) for calls in trace.levels.values()]
        begin, end = (np.concatenate([getattr(calls, name) for calls in mine]) for name in ("start", "end"))
        if (length := _length(begin, end)) > longest:
            first, last = trace.span(process)
            longest, elapsed = length, last - first
    return longest, elapsed


def _length(begin: Seconds, end: Seconds) -> float:
    """Returns the length of the union of intervals."""
    if not len(begin):
        return 0.0
    order = np.argsort(begin)
    begin, end = begin[order], np.maximum.accumulate(end[order])
    before = np.r_[begin[0], end[:-1]]
    return float(np.maximum(0.0, end - np.maximum(begin, before)).sum())


def differences(before: Accounts, now: Accounts) -> list[str]:
    """Returns, for each file whose calls have changed, what has."""
    found = []
    for name in sorted({*before, *now}):
        changes = before.get(name, FileAccount()).changes(now.get(name, FileAccount()))
        if changes:
            found.append(f"{name}: {'; '.join(changes)}")
    return found


def _sum(one: FileAccount, other: FileAccount) -> FileAccount:
    names = [name for name in vars(one) if name not in ("writers", "size_bytes")]
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    return FileAccount(**sums, writers=tuple(sorted({*one.writers, *other.writers})), size_bytes=one.size_bytes)


def below(path: str, folder: Path) -> str | None:
    """Returns the path from the folder; None: it is elsewhere, or is of the trial, as the command's log is."""
    try:
        found = Path(path).relative_to(folder)
    except ValueError:
        return None
    return None if found.parts and found.parts[0].startswith(PREFIX) else str(found)


def _who(writers: tuple[str, ...]) -> str:
    if not writers:
        return "none"
    if len(writers) > 4:
        return f"{len(writers)} {writers[0].split()[0]}s"
    return ", ".join(writers)
