"""The folder of the control sockets of a host, and the end of those that hosts have left that were killed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004

_PREFIX = "thalweg-host-"
_LOCK = "lock"  # a file that the host holds locked while it lives; the kernel frees the lock however it ends


@contextlib.contextmanager
def own_folder(say: Callable[[str], None]) -> Iterator[Path]:
    """Makes a folder which only this user may open, and removes it in the end. Raises SystemError if it cannot be made.

    Folders of this user whose lock is free are removed first: their hosts have ended. A folder without a lock is not
    known to be one of ours, and stays."""
    _remove_left_over(Path(tempfile.gettempdir()), say)
    try:
        folder, lock = _locked()
    except OSError as error:
        raise SystemError(error.errno or 0, f"cannot make a folder for control sockets ({error.strerror})") from None
    try:
        yield folder
    finally:
        _remove(folder, say)
        os.close(lock)


def _locked() -> tuple[Path, int]:
    """Returns a new folder, and its lock. Another host may see it before it is locked and remove it: then another."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = -1
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink > 0:
                return folder, lock
        except FileNotFoundError:
            pass
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if lock >= 0:
            os.close(lock)


def _remove_left_over(place: Path, say: Callable[[str], None]) -> None:
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):  # it is gone, or has no lock
                say(f"cannot say whether the host of {folder} lives ({error.strerror}): the folder stays")
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_nlink > 0:
                _remove(folder, say)
        except BlockingIOError:
            pass  # its host lives
        except OSError as error:
            say(f"cannot say whether the host of {folder} lives ({error.strerror}): the folder stays")
        finally:
            os.close(lock)


def _remove(folder: Path, say: Callable[[str], None]) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        say(f"cannot remove {folder}, which has no host any more ({error.strerror}): remove it")
