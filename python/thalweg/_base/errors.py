"""The three kinds of error. A message says *problem (why): suggestion*, and names the file, table, column and row."""

import errno

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The error numbers of a file for which there is no room: on a full disk, beyond a quota or the longest file."""
APPEND_AGAIN = ", and append again; or close it: the file has all rows that were taken"
"""What the library advises then, behind how room is made. Commands, whose files end then, say something else."""


class Error(Exception):
    """The base class of all errors of Thalweg."""


class UsageError(Error, ValueError):
    """Raised if a request is wrong. The caller can correct it."""


class UnknownNameError(UsageError, KeyError):
    """Raised if there is no table, column or attribute of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfRangeError(UsageError, IndexError):
    """Raised if there is no row with that number."""


class SystemError(Error, OSError):  # noqa: A001 (the C++ library has the same name for it)
    """Raised if the machine fails: a full disk, a failed write, a dead process. `errno` is its error number, or 0."""

    def __str__(self) -> str:
        return str(self.strerror)


class DataError(Error):
    """Raised if the bytes of a file are wrong: it is damaged, truncated, or not a file of a known format."""


for _kind in (Error, UsageError, UnknownNameError, OutOfRangeError, SystemError, DataError):
    _kind.__module__ = "thalweg"  # tracebacks show the public name


def text_of(error: BaseException | None) -> str:
    """Returns the type and the message of an error, such as "TypeError: ..."."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
