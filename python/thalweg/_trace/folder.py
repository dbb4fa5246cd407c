"""The folder of a trace in shared memory: it holds a control page, and new rings until the tracer has found them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

import numpy as np

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._trace.records import (
    CONTROL,
    CONTROL_BYTES,
    HEADER_BYTES,
    LAYOUT_VERSION,
    LEVELS,
    RECORD,
    SLOT_BYTES,
    SLOTS,
)
from thalweg._trace.rings import is_alive

_PREFIX = "thalweg-trace-"
_SHARED_MEMORY = Path("/dev/shm")


_MOST_BYTES = 1 << 30


class Folder:
    """A folder in /dev/shm, or in the folder for temporary files if /dev/shm has no room. It is removed at the end."""

    def __init__(self, ring_records: int, levels: int, *, may_grow: bool = False) -> None:
        """`may_grow`: a thread whose ring is full goes on in another one, while half of the memory is free."""
        self.in_shared_memory = True
        try:
            remove_left_over(_SHARED_MEMORY)
            self.path = _make(_SHARED_MEMORY, ring_records)
        except OSError:
            self.in_shared_memory = False
            try:
                self.path = _make(Path(tempfile.gettempdir()), ring_records)
            except OSError as error:
                where = f"{_SHARED_MEMORY} and {tempfile.gettempdir()}"
                raise SystemError(
                    error.errno,
                    f"there is no memory for a trace ({where}: {error.strerror}): free some, or set TMPDIR to a folder "
                    "with space",
                ) from None
        control = np.zeros(1, CONTROL)
        control["version"] = LAYOUT_VERSION
        control["tracer_pid"] = os.getpid()
        control["ring_records"] = ring_records
        control["levels"] = levels
        control["next_process"] = control["next_file"] = control["next_ring"] = 1
        if may_grow:
            control["most_bytes"] = min(_MOST_BYTES, shutil.disk_usage(self.path).free // 2)
        with contextlib.suppress(OSError):
            control["pid_namespace"] = os.stat("/proc/self/ns/pid").st_ino
        with (self.path / "control").open("r+b") as file:
            file.write(control.tobytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _make(place: Path, ring_records: int) -> Path:
    """Makes the folder. Raises OSError if there is no room for two rings."""
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
    try:
        with (path / "control").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, CONTROL_BYTES + SLOTS * SLOT_BYTES)
        with (path / "room").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2 * (HEADER_BYTES + ring_records * RECORD.itemsize))
        (path / "room").unlink()
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return path


def remove_left_over(place: Path) -> None:
    """Removes folders of tracers that were killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        with contextlib.suppress(OSError):
            if pid.isdecimal() and not is_alive(int(pid)) and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def level_mask(names: list[str]) -> int:
    """Returns the bits of these levels, or of all levels if none is named."""
    return sum(1 << LEVELS.index(name) for name in names) if names else (1 << len(LEVELS)) - 1
