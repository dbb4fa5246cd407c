"""A file system on a block device that logs each write and each flush.

A file is exported by qemu's `blklogwrites` over FUSE, a loop device lies over it, and the file system on that. So no
device mapper is needed. The log is a file outside of all this. Its format is that of the Linux target `log-writes`.
"""

import contextlib
import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mounted

SECTOR = 512
MAGIC = 0x6A736677736872
FLUSH, DISCARD = 1, 4
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,nodiscard"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K", "-m", "single"],
}
SIZE = {"ext4": 256 << 20, "xfs": 320 << 20, "btrfs": 160 << 20}
PROGRAMS = ("qemu-storage-daemon", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")
FILE_SYSTEMS = tuple(MAKE)


@dataclass(frozen=True)
class Entry:
    """One write, flush or discard."""

    sector: int
    count: int  # of sectors
    flags: int
    data: int  # where the sectors are in the log
    end: int  # of this entry in the log


@contextlib.contextmanager
def logged(folder: Path, file_system: str) -> Iterator[tuple[Path, Path]]:
    """Yields the folder where the file system is mounted, and the log."""
    disk, log, block, where = (folder / name for name in ("disk", "log", "block", "mounted"))
    for path in (disk, log, block):
        path.touch()
    os.truncate(disk, SIZE[file_system])
    where.mkdir()
    with export(disk, log, block) as _, mounted.loop(block, mounted.RECORDING) as (name, _):
        subprocess.run([*MAKE[file_system], name], check=True, stdout=subprocess.DEVNULL)
        mounted.mount(name, where, file_system)
        try:
            yield where, log
        finally:
            mounted.unmount(where)
    disk.unlink()


@contextlib.contextmanager
def export(disk: Path, log: Path, block: Path) -> Iterator[None]:
    nodes = [
        f"driver=file,filename={disk},node-name=disk",
        f"driver=file,filename={log},node-name=log",
        f"driver=blklogwrites,file=disk,log=log,node-name=logged,log-sector-size={SECTOR}",
    ]
    command = ["qemu-storage-daemon", *(word for node in nodes for word in ("--blockdev", node))]
    command += ["--export", f"type=fuse,id=export,node-name=logged,mountpoint={block},writable=on"]
    with mounted.daemon(command, has_size(block, disk.stat().st_size), dies_by="KILL"):
        try:
            yield
        finally:
            time.sleep(0.02)  # the loop device lets go of the file


def has_size(path: Path, size: int) -> Callable[[], bool]:
    """Returns a function that says whether the file, which stands for a device, has appeared."""
    return lambda: path.stat().st_size == size


def read_log(path: Path) -> list[Entry]:
    """Returns the entries in their order. One that is cut off ends the list."""
    entries, size = [], path.stat().st_size
    with path.open("rb") as file:
        magic, _, _, sector_size = struct.unpack("<QQQI", file.read(28))
        assert (magic, sector_size) == (MAGIC, SECTOR), f"{path} is no log of writes"
        at = SECTOR
        while at + SECTOR <= size:
            file.seek(at)
            sector, count, flags, _ = struct.unpack("<QQQQ", file.read(32))
            data = at + SECTOR
            at = data + (0 if flags & DISCARD else count * SECTOR)
            if at > size or sector == count == flags == 0:
                break
            entries.append(Entry(sector, count, flags, data, at))
    return entries
