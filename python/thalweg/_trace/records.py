"""The interface of traced programs and the tracer: the tracing library, and the layout in interpose/record.h."""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg._base.errors import SystemError  # noqa: A004

LAYOUT_VERSION = 5
CONTROL_BYTES, HEADER_BYTES, SLOT_BYTES = 4096, 2048, 5 * 4096
STACK_DEPTH = 16
CALL, TEXT = 0, 1
PATH, SECOND_PATH, FILE, HINT_ASKED, HINT_REPORTED, LIBRARY, ENVIRONMENT, PROPERTY, DATASET, BECOMES = range(1, 11)
WHY_NOT, LIMITED, HINT_OF_FILE, OPENED, MODULES, TOPOLOGY = range(11, 17)
SLOTS, SLOT_RECORDS = 256, 256
FREE, READY, READ = 0, 2, 3
"""States of a slot: a ring that is there before the program begins."""
NO_MEMORY, NO_PERMISSION, NO_TRACER, FILE_LIMIT = 1, 2, 3, 4
LEVELS = ("posix", "stdio", "mpi", "hdf5", "work")
"""The names of the tables in the order of their numbers. `work` holds what Thalweg reports of its own work."""
IN_FLIGHT = "in flight"
"""The kind of asynchronous writes: they overlap the calls of their thread, and neither contains the other."""

REGION = "region"
"""The kind of phases that a program has marked: they contain calls, and are none."""

RECORD = np.dtype(
    [
        ("start", "u8"),
        ("end", "u8"),
        ("result", "i8"),
        ("offset", "i8"),
        ("size", "i8"),
        ("file", "u4"),
        ("operation", "u2"),
        ("error", "u2"),
        ("handle", "u8"),
        ("depth", "u1"),
        ("kind", "u1"),
        ("extra", "u2"),
        ("spare", "u4"),
    ]
)
BEGUN = np.dtype(
    [("start", "u8"), ("offset", "i8"), ("size", "i8"), ("file", "u4"), ("operation", "u4"), ("frame", "u8")]
)
RING = np.dtype(
    [
        ("version", "u4"),
        ("process", "u4"),
        ("pid", "i4"),
        ("tid", "i4"),
        ("parent_pid", "i4"),
        ("rank", "i4"),
        ("capacity", "u4"),
        ("is_forked", "u4"),
        ("head", "u8"),
        ("tail", "u8"),
        ("dropped", "u8", (len(LEVELS),)),
        ("is_ended", "u4"),
        ("is_elsewhere", "u4"),
        ("created", "u8"),
        ("io_begin", "u8", (4,)),
        ("io_end", "u8", (4,)),
        ("has_io_end", "u4"),
        ("own_read_bytes", "u4"),
        ("own_reads", "u4"),
        ("describes_process", "u4"),
        ("stack", BEGUN, (STACK_DEPTH,)),
        ("command", "S512"),
        ("executable", "S512"),
        ("cores", "u1", (128,)),
    ]
)
FAILURE = np.dtype([("pid", "i4"), ("why", "u2"), ("error", "u2"), ("program", "S64")])
CONTROL = np.dtype(
    [
        ("version", "u4"),
        ("tracer_pid", "i4"),
        ("ring_records", "u4"),
        ("levels", "u4"),
        ("next_process", "u4"),
        ("next_file", "u4"),
        ("next_ring", "u4"),
        ("failed_rings", "u4"),
        ("most_bytes", "u8"),
        ("made_bytes", "u8"),
        ("released_bytes", "u8"),
        ("pid_namespace", "u8"),
        ("failures", FAILURE, (24,)),
        ("next_slot", "u4"),
        ("slots", "u4", (SLOTS,)),
    ]
)


@dataclass(frozen=True)
class Operation:
    """A call that is recorded."""

    name: str
    level: int
    kind: str
    """One of: open, close, read, write, metadata, sync, seek, lock, map, transfer, wait, other; and, for Thalweg's own
    work: encode, decode, claim, commit, in flight."""


@functools.cache
def library_path() -> Path:
    """Returns the path of the tracing library, which is a part of the package."""
    path = (Path(__file__).parent.parent / "libthalweg_interpose.so").resolve()
    if not path.exists():
        raise SystemError(0, f"{path} does not exist (the package was built without it): install thalweg again")
    return path


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    library.thalweg_interpose_operation.restype = ctypes.c_char_p
    sizes = library.thalweg_interpose_layout()
    if (sizes >> 16, sizes & 0xFFFF) != (RING.itemsize, RECORD.itemsize):
        raise SystemError(0, f"{library_path()} has another version than this package: install thalweg again")
    return library


@functools.cache
def operations() -> tuple[Operation, ...]:
    """Returns the recorded operations by number."""
    found: list[Operation] = []
    while (name := _library().thalweg_interpose_operation(len(found))) is not None:
        text = name.decode()
        found.append(Operation(text, _library().thalweg_interpose_level(len(found)), kind_of(text)))
    return tuple(found)


def clock_seconds(has_counter: bool) -> float:
    """Returns how long the library looks at the clock: a recorded call seems to take this much longer."""
    look = _library().thalweg_interpose_clock_picoseconds
    look.restype = ctypes.c_uint64
    return float(look(has_counter)) * 1e-12


def clocks(has_counter: bool) -> tuple[int, int]:
    """Returns the clock of the records in ticks, and the system clock in nanoseconds, at the same time."""
    ticks, nanoseconds = ctypes.c_uint64(), ctypes.c_uint64()
    _library().thalweg_interpose_clocks(int(has_counter), ctypes.byref(ticks), ctypes.byref(nanoseconds))
    return ticks.value, nanoseconds.value


def has_steady_counter() -> bool:
    """Returns whether the counter of the processor runs at one rate on all cores, so that it can serve as the clock."""
    try:
        facts = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    if "aarch64" in facts or "CPU implementer" in facts:
        return True
    return re.search(r"\bconstant_tsc\b", facts) is not None and re.search(r"\bnonstop_tsc\b", facts) is not None


_KINDS = (
    ("encode", "encode_page"),
    ("decode", "decode_page"),
    ("claim", "claim_extent"),
    ("wait", "wait_for_(space|memory|writes)"),
    (IN_FLIGHT, "write_in_flight"),
    (REGION, "region"),
    ("sync", "sync_(data|journal)"),
    ("commit", "write_journal|write_interim_footer|complete_file"),
    ("start", r"MPI_(Init\w*|Finalize)"),
    ("wait", r"MPI_(Barrier|Bcast|Reduce|Allreduce|Gatherv?|Scatterv?|Allgatherv?|Alltoallv?|Scan)"),
    ("wait", r"MPI_(Exscan|Wait\w*|Probe|Recv|Send|Ssend|Sendrecv)|aio_suspend(64)?|io_uring_submit\w*|io_getevents"),
    ("seek", r"lseek(64)?|fseeko?(64)?|rewind|MPI_File_seek\w*"),
    ("sync", r"fsync|fdatasync|sync\w*|msync|fflush|aio_fsync(64)?|MPI_File_sync|H5Fflush\w*|H5\wflush\w*"),
    ("lock", r"fcntl(64)?|flock|lockf(64)?"),
    ("map", r"mmap(64)?"),
    ("transfer", r"sendfile(64)?|copy_file_range|splice|vmsplice|tee"),
    ("open", r"(f|fd|fre)?open(64)?|openat(64)?|creat(64)?|mko?stemp(64)?|MPI_File_open|H5F(open|create)\w*"),
    ("close", r"f?close|MPI_File_close|H5Fclose\w*|H5close"),
    (
        "read",
        r"p?readv?(64)?(v2)?|preadv2|fread\w*|fgets(_unlocked)?|fgetc|getc|getline|getdelim|aio_read(64)?",
    ),
    ("read", r"MPI_File_i?read\w*|H5[AD]read\w*"),
    (
        "write",
        r"p?writev?(64)?(v2)?|pwritev2|fwrite\w*|fputs(_unlocked)?|fputc(_unlocked)?|putc|putchar|puts|v?f?printf",
    ),
    ("write", r"aio_write(64)?|lio_listio(64)?|MPI_File_i?write\w*|H5[AD]write\w*"),
    ("metadata", r"(posix_)?fallocate(64)?|f?truncate(64)?|rename(at2?)?|unlink(at)?|remove|(sym)?link|mkdir|rmdir"),
    (
        "metadata",
        r"mkdirat|mknod|mkfifo|(sym)?linkat|readlink(at)?|[lf]?chmod|fchmodat|[lf]?chown|fchownat|[lf]?utimes?",
    ),
    ("metadata", r"futimesat|futimens|utimensat|f?stat(v?)fs(64)?|[lf]?(get|set|list)xattr|eaccess|euidaccess"),
    ("metadata", r"[fl]?stat(64)?|fstatat(64)?|statx|f?access(at)?|faccessat|opendir|MPI_File_\w+|H5[ADFGLOR]\w+"),
)


@functools.cache
def kind_of(name: str) -> str:
    """Returns the kind of the call with this name."""
    return next((kind for kind, names in _KINDS if re.fullmatch(names, name)), "other")
