"""The three kinds of error. An error says *problem (why): suggestion*, and names the file, table, column and row."""


class Error(Exception):
    """What all errors of Thalweg have in common."""


class UsageError(Error, ValueError):
    """The request was wrong: the caller can mend it."""


class UnknownNameError(UsageError, KeyError):
    """There is no table or column of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfRangeError(UsageError, IndexError):
    """There is no row of that number."""


class SystemError(Error, OSError):  # noqa: A001 (the C++ library has the same name for it)
    """The machine said no: a full disk, a failed write, a dead process. `errno` says which, or is 0."""

    def __str__(self) -> str:
        return str(self.strerror)


class DataError(Error):
    """The bytes are wrong: a damaged, truncated or foreign file."""


for _kind in (Error, UsageError, UnknownNameError, OutOfRangeError, SystemError, DataError):
    _kind.__module__ = "thalweg"  # where people find them, and what a traceback says


def text_of(error: BaseException | None) -> str:
    """Returns "TypeError: ..."."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
