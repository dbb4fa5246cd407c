"""Paths: their type in signatures, and the questions what a path names.

`os.path.exists`, `isfile` and `isdir` answer False if the machine cannot say what is there: in a folder that may not be
searched, or on a disk that fails. The functions here raise then.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TypeAlias

from thalweg._base.errors import SystemError  # noqa: A004

Path: TypeAlias = "str | os.PathLike[str]"
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def is_there(path: Path) -> bool:
    """Returns whether the name is taken: by a file, a folder or a link, wherever that leads.

    Raises SystemError if the machine does not say so.
    """
    return _mode(path, follows_links=False) is not None


def is_folder(path: Path) -> bool:
    """Returns whether the path leads to a folder. Raises SystemError if the machine does not say so."""
    mode = _mode(path, follows_links=True)
    return mode is not None and stat.S_ISDIR(mode)


def is_file(path: Path) -> bool:
    """Returns whether the path leads to a regular file. Raises SystemError if the machine does not say so."""
    mode = _mode(path, follows_links=True)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: Path, *, follows_links: bool) -> int | None:
    try:
        return os.stat(path, follow_symlinks=follows_links).st_mode
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise SystemError(error.errno, f"cannot look for {os.fspath(path)} ({error.strerror})") from None
