"""Mounts a folder of runs: `thalweg mount`."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyfuse3
import trio

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.signals import not_ignored
from thalweg._serving.folder import ShownFolder
from thalweg._serving.mounted import MountedFolder

_SOURCE = "thalweg"  # as the list of mounts names it


def mount(folder: ShownFolder, place: Path, ready: Callable[[], None]) -> None:
    """Shows the folder at `place` until a signal comes, or until it is unmounted. Raises UsageError and SystemError if
    it cannot be shown there."""
    _clear_dead(place)
    _check(folder, place)
    options = {*pyfuse3.default_options, f"fsname={_SOURCE}", "ro"}
    try:
        pyfuse3.init(MountedFolder(folder), str(place), options)
    except RuntimeError as error:
        raise SystemError(
            0, f"{folder.path} cannot be mounted on {place} ({error}): is fuse3 installed, and may you use /dev/fuse?"
        ) from None
    try:
        trio.run(_until_signal, ready)
    finally:
        pyfuse3.close(unmount=True)


async def _until_signal(ready: Callable[[], None]) -> None:
    with trio.open_signal_receiver(*not_ignored((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))) as signals:
        async with trio.open_nursery() as nursery:

            async def serve() -> None:
                await pyfuse3.main()
                nursery.cancel_scope.cancel()

            nursery.start_soon(serve)
            ready()
            async for _ in signals:
                nursery.cancel_scope.cancel()


def _check(folder: ShownFolder, place: Path) -> None:
    real = Path(os.path.realpath(place))
    if real.is_relative_to(folder.path) or folder.path.is_relative_to(real):
        raise UsageError(f"{place} cannot show {folder.path} (one is in the other): give a folder elsewhere")
    try:
        is_empty = next(iter(real.iterdir()), None) is None
    except OSError as error:
        raise UsageError(f"{place} is no place for a mount ({error.strerror}): give an empty folder") from None
    if not is_empty:
        raise UsageError(f"{place} is no place for a mount (it is not empty): give an empty folder")


def _clear_dead(place: Path) -> None:
    """Unmounts what a process that was killed has left at this place."""
    try:
        place.stat()
    except OSError as error:
        if error.errno != errno.ENOTCONN or not _is_ours(place):
            return
        tool = shutil.which("fusermount3") or shutil.which("fusermount") or "fusermount3"
        done = subprocess.run([tool, "-u", "--", os.path.abspath(place)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemError(errno.ENOTCONN, f"{place} has a dead mount ({done.stderr.strip()}): unmount it") from None


def _is_ours(place: Path) -> bool:
    """The path cannot be resolved beyond its parent: the mount is dead."""
    path = os.path.join(os.path.realpath(place.parent), place.name)
    mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    return any(words[:2] == [_SOURCE, path.replace(" ", "\\040")] for words in mounts)
