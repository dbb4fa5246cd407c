"""A small engine like those of concurrent.futures, whose workers are processes on any machine that sees its folder.

engine.py ADDRESS    runs one worker
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

_SECONDS = 60.0
_Work = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class WorkerLostError(Exception):
    pass


class Engine(Executor):
    """notices: whether a piece of work ends, with an error, when the worker dies that does it."""

    def __init__(self, address: str, notices: bool = True) -> None:
        self._listener = Listener(address, "AF_UNIX")
        self._notices = notices
        self._waiting: queue.Queue[_Work] = queue.Queue()
        threading.Thread(target=self._accept, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.put((future, function, arguments))
        return future

    def _accept(self) -> None:
        while True:
            with suppress(OSError, EOFError):
                threading.Thread(target=self._serve, args=(self._listener.accept(),), daemon=True).start()

    def _serve(self, worker: Connection[Any, Any]) -> None:
        while True:
            future, function, arguments = self._waiting.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker.send((function, arguments))
                is_well, result = worker.recv()
            except (OSError, EOFError) as error:
                if self._notices:
                    future.set_exception(WorkerLostError(f"{type(error).__name__}: {error}"))
                return
            future.set_result(result) if is_well else future.set_exception(result)


def work(address: str) -> None:
    """Until the engine is gone."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            engine = Client(address, "AF_UNIX")
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    with suppress(EOFError, OSError):
        while True:
            function, arguments = engine.recv()
            try:
                said = True, function(*arguments)
            except Exception as error:
                said = False, error
            engine.send(said)


if __name__ == "__main__":
    work(sys.argv[1])
