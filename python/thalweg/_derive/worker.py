"""A worker process: it receives its tasks over a channel and sends back what it has done."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._derive.channel import MessageChannel
from thalweg._derive.session import Job, Task, WorkerSession
from thalweg._derive.usage import own_cpu_seconds, pss_bytes

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.5


def main(channel: MessageChannel, job: Job, parent: int) -> None:
    """Runs until it is told to end, or until the process that started it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the process of the job decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(parent)
    gc.freeze()  # to search what was inherited would copy it, since the collector writes to all objects
    code = 1
    try:
        session = WorkerSession(job, True)
        while (message := channel.receive()) is not None:
            what, *arguments = message
            _ANSWERS[what](session, channel, *arguments)
        session.finish()
        channel.send(("ended", sorted(session.used), usage(at_end=True)))
        code = 0
    except (EOFError, BrokenPipeError):
        pass  # the process of the job has ended
    except BaseException:
        traceback.print_exc()
    _end(code)


def _end(code: int) -> None:
    """Ends this process. Python itself would wait for threads and processes that functions have left."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


def _describe(session: WorkerSession, channel: MessageChannel, ranges: Any) -> None:
    try:
        channel.send(("described", session.describe(ranges, channel.send)))
    except BaseException as error:
        channel.send(("failed", None, str(error) or type(error).__name__, _text(), False))


def _open(session: WorkerSession, channel: MessageChannel, handles: list[str | None]) -> None:
    try:
        session.open(handles)
    except Exception as error:
        channel.send(("failed", None, str(error), _text(), True))


def _do(session: WorkerSession, channel: MessageChannel, task: Task) -> None:
    range_: list[int] = []

    def announce(message: tuple[Any, ...]) -> None:
        if message[0] == "began":
            range_[:] = [message[1]]
        channel.send(message)

    try:
        times = session.do(task, announce)
    except BaseException as error:
        channel.send(failure_of(error, range_[0] if range_ else None))
    else:
        channel.send(("done", times, usage(), [], session.copied()))


_ANSWERS: dict[str, Callable[..., None]] = {"describe": _describe, "open": _open, "do": _do}


def failure_of(error: BaseException, number: int | None) -> tuple[Any, ...]:
    """Returns the message about an error in a range. A sys.exit in a function is a failure, too."""
    return "failed", number, _sentence(error), _text(), isinstance(error, SystemError)


def usage(at_end: bool = False) -> tuple[float, int]:
    """Returns CPU time and memory of this process. Reading the memory takes milliseconds, so it is done rarely."""
    now = time.monotonic()
    if at_end or now - _memory.looked >= _LOOK_EVERY_S:
        _memory.looked, _memory.pss = now, pss_bytes()
    return own_cpu_seconds(), _memory.pss


class _Memory:
    looked = -math.inf
    pss = 0


_memory = _Memory()


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _text() -> str:
    """Returns the traceback from the first line of user code on, or an empty text if there is none."""
    kind, error, frames = sys.exc_info()
    here = os.path.dirname(__file__)
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(here):
        frames = frames.tb_next
    return "".join(traceback.format_exception(kind, error, frames)) if frames else ""


def _die_with(parent: int) -> None:
    """Lets the kernel end this process when its parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has ended already
        os._exit(1)
