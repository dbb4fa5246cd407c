"""Mounts and loop devices of the judges, and a machine that has been restarted.

Each play of a judge is a process with mounts of its own: they vanish when it ends, whichever way it ends, and loop
devices detach themselves when nothing uses them.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from ctypes import c_long
from pathlib import Path
from typing import Any

from kills.mounts import call, mount_small_memory
from kills.mounts import why_not as why_no_mounts

LOOP_CONFIGURE, LOOP_CTL_ADD, BLKFLSBUF = 0x4C0A, 0x4C80, 0x1261
AUTOCLEAR, DIRECT_IO = 4, 16
# Numbers of loop devices are taken from one range while recording and from another one while judging: after a restart
# a device rarely has the number that it had.
RECORDING, JUDGING = range(100, 140), range(200, 240)
FUSE, LOOP, BOOT_ID = Path("/dev/fuse"), Path("/dev/loop-control"), "/proc/sys/kernel/random/boot_id"
MS_BIND = 4096
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
MNT_DETACH = 2


def why_not(programs: tuple[str, ...] = ()) -> str:
    """Returns why nothing can be mounted here, or an empty text if it can."""
    if os.geteuid() != 0:
        return "only root may mount file systems"
    for device in (FUSE, LOOP):
        if not os.access(device, os.R_OK | os.W_OK):
            return f"{device} cannot be opened"
    if why := why_no_mounts():
        return why
    missing = [program for program in programs if shutil.which(program) is None]
    return f"{', '.join(missing)} is not installed (make judges installs it)" if missing else ""


def have_own_mounts() -> None:
    """Gives this process and its children mounts of their own, and an empty /dev/shm."""
    mount_small_memory("2g")


def restart() -> None:
    """Makes a machine of this process that has been restarted: nothing in /dev/shm, another boot id."""
    mount("tmpfs", "/dev/shm", "tmpfs", "size=2g")
    path = Path("/dev/shm/boot_id")
    path.write_text(f"{uuid.uuid4()}\n")
    call("mount", bytes(path), BOOT_ID.encode(), None, MS_BIND, None)


def forget_memory() -> None:
    """Removes all shared memory, as a restart does it."""
    for path in shared_memory():
        path.unlink()


def shared_memory() -> list[Path]:
    return sorted(path for path in Path("/dev/shm").iterdir() if path.name != "boot_id")


def remove_pages(file: int, begin: int, size: int) -> None:
    """Lets these bytes of a file read as 0, without room for them."""
    call("fallocate", file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, c_long(begin), c_long(size))


def mount(what: str, where: str | Path, file_system: str, options: str = "") -> None:
    call("mount", what.encode(), os.fsencode(where), file_system.encode(), 0, options.encode())


def unmount(where: str | Path, timeout_s: float = 5) -> None:
    """Raises OSError if the file system is still in use; it is detached all the same."""
    end_s = time.monotonic() + timeout_s
    while True:
        try:
            return call("umount2", os.fsencode(where), 0)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            if time.monotonic() > end_s:
                detach(where)
                raise
        time.sleep(0.01)


def detach(where: str | Path) -> None:
    """Unmounts a file system from which files may still be open."""
    call("umount2", os.fsencode(where), MNT_DETACH)


@contextlib.contextmanager
def daemon(command: list[Any], is_there: Callable[[], bool], dies_by: str = "TERM") -> Iterator[None]:
    """Runs a program that makes a device or a folder, and ends it, by this signal if this process dies. Raises an error
    if what it makes does not appear."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(["setpriv", "--pdeathsig", dies_by, *command], stderr=errors)
        try:
            end_s = time.monotonic() + 20
            while not is_there():
                if process.poll() is not None or time.monotonic() > end_s:
                    errors.seek(0)
                    said = errors.read().decode(errors="replace")
                    raise RuntimeError(f"{command}: nothing appears (exit code {process.poll()}): {said}")
                time.sleep(0.01)
            yield
        finally:
            process.terminate()
            process.wait(20)


@contextlib.contextmanager
def folder_in_memory(path: Path) -> Iterator[Path]:
    """Yields a new folder whose files take no disk; it goes with all that is in it."""
    path.mkdir(parents=True)
    mount("tmpfs", path, "tmpfs")
    try:
        yield path
    finally:
        detach(path)
        path.rmdir()


@contextlib.contextmanager
def loop(path: Path, numbers: range, flags: int = 0) -> Iterator[tuple[str, int]]:
    """Yields the name of a loop device over this file, and its descriptor."""
    name, device = _attach(path, numbers, flags | AUTOCLEAR)
    try:
        yield name, device
    finally:
        os.close(device)


@contextlib.contextmanager
def small_ext4(folder: Path) -> Iterator[Path]:
    """Yields the place of a new file system, which offers direct I/O."""
    image, where = folder / "image", folder / "ext4"
    image.touch()
    os.truncate(image, 64 << 20)
    where.mkdir()
    with loop(image, RECORDING) as (name, _):
        subprocess.run(["mkfs.ext4", "-q", "-F", name], check=True, stdout=subprocess.DEVNULL)
        mount(name, where, "ext4")
        try:
            yield where
        finally:
            detach(where)


def _attach(path: Path, numbers: range, flags: int) -> tuple[str, int]:
    file = os.open(path, os.O_RDWR)
    try:
        configuration = struct.pack("<II", file, 0) + _loop_info(flags) + bytes(64)
        start = os.getpid() % len(numbers)  # plays at the same time rarely try the same one
        for number in [*numbers[start:], *numbers[:start]]:
            device = os.open(_device(number), os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(device, LOOP_CONFIGURE, configuration)
            except OSError as error:
                os.close(device)
                if error.errno != errno.EBUSY:
                    raise
                continue
            return _device(number), device
    finally:
        os.close(file)
    raise OSError(errno.EBUSY, f"all loop devices from {numbers.start} to {numbers.stop - 1} are in use")


def _loop_info(flags: int) -> bytes:
    """Returns a struct loop_info64 of which only the flags are set."""
    return struct.pack("<5Q4I", 0, 0, 0, 0, 0, 0, 0, 0, flags) + bytes(64 + 64 + 32 + 16)


def _device(number: int) -> str:
    name = f"/dev/loop{number}"
    if not os.path.exists(name):
        control = os.open(LOOP, os.O_RDWR)
        try:
            fcntl.ioctl(control, LOOP_CTL_ADD, number)
        except FileExistsError:
            pass
        finally:
            os.close(control)
    return name


def forget_cached_blocks(device: int) -> None:
    fcntl.ioctl(device, BLKFLSBUF, 0)
