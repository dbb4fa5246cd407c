"""Work in forked processes: each measurement has its own, so that none inherits memory or threads of another."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from thalweg._base.errors import Error

_FORK = multiprocessing.get_context("fork")


class Child:
    """Runs `work(connection)`, which may talk through it; `result` is what it returns at last."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.connection, theirs = _FORK.Pipe()
        self._process = _FORK.Process(target=_run, args=(work, theirs), daemon=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's library has idle threads: they do not matter
            self._process.start()
        theirs.close()

    def result(self) -> Any:
        """Waits for it. Raises Error with what went wrong there."""
        try:
            kind, value = self.connection.recv()
        except EOFError:
            self._process.join()
            raise Error(f"a process of the study ended with code {self._process.exitcode}") from None
        self._process.join()
        if kind == "error":
            raise Error(value)
        return value


def in_child(work: Callable[[], Any]) -> Any:
    """The result of `work`, done in a forked process."""
    return Child(lambda _: work()).result()


def _run(work: Callable[[Connection], Any], connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the study, which waits until we have ended
    try:
        connection.send(("done", work(connection)))
    except Exception as error:
        connection.send(("error", f"{type(error).__name__}: {error}"))
