"""One process of a handler: how it is started, what it says, and why it has ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._readout.host.groups import Group, Share

_LAUNCH = str(Path(__file__).with_name("launch.py"))
_STAMP = re.compile(r"20\d\d-\d\d-\d\dT[\d:]+Z ")  # the supervisor adds its own
_MOST_RESULT = 64 << 20
_MOST_LINE = 64 << 10
_PATIENCE_S = 2.0
WRONG_REQUEST = 2


@dataclass(frozen=True)
class Ending:
    """How a process of a handler has ended: `code` is its exit code, or minus the number of the signal."""

    code: int
    seconds: float
    for_memory: bool
    asked: bool
    not_known: str = ""  # why it is not known whether the kernel has killed it for its memory

    @property
    def why(self) -> str:
        return "memory" if self.for_memory else "signal" if self.code < 0 else "exit"

    def sentence(self) -> str:
        if self.for_memory:
            return "the kernel has killed it, because it has taken all memory of its control group"
        if self.code < 0:
            if_known = f" (whether for its memory could not be asked: {self.not_known})" if self.not_known else ""
            return f"it was ended by {_name_of(-self.code)}{if_known}"
        return f"it has ended with exit code {self.code}"


class Child:
    """A process of a handler. The main thread starts it, since the kernel ends it together with the thread that did."""

    def __init__(self, command: Sequence[str], group: Group, share: Share, say: Callable[[str], None]) -> None:
        settings = {
            "join": group.joins,
            "processors": list(share.processors),
            "memory_nodes": list(share.memory_nodes),
        }
        words = [sys.executable, "-I", "-S", _LAUNCH, str(os.getpid()), json.dumps(settings), *command]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal is for the supervisor, which asks the handlers to end
            )
        except OSError as error:
            raise SystemError(error.errno or 0, f"cannot start {words[0]} ({error.strerror})") from None
        self._group = group
        self._begin_s = time.monotonic()
        self._asked = 0
        self._result = _Result()
        assert self._process.stdout
        assert self._process.stderr
        self._readers = [
            threading.Thread(target=self._result.read, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=_pass_on, args=(self._process.stderr, say), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def age_s(self) -> float:
        return time.monotonic() - self._begin_s

    def ask_to_end(self) -> None:
        """Sends SIGTERM: the first one drains the handler, the second one ends it at once."""
        self._asked += 1
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def ending(self) -> Ending | None:
        """Returns how the process has ended, or None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        for reader in self._readers:
            reader.join(_PATIENCE_S)
        seconds, is_kill = time.monotonic() - self._begin_s, code == -signal.SIGKILL
        try:
            for_memory = self._group.was_killed_for_memory() and is_kill
        except OSError as error:
            not_known = f"{error.filename}: {error.strerror}" if is_kill else ""
            return Ending(code, seconds, for_memory=False, asked=self._asked > 0, not_known=not_known)
        return Ending(code, seconds, for_memory, self._asked > 0)

    def result(self) -> str:
        """Returns what it has written to stdout."""
        return self._result.text()


@dataclass
class _Result:
    """What a process writes to stdout: its reports, at its end."""

    _parts: list[bytes] = field(default_factory=list)
    _bytes: int = 0

    def read(self, stream: IO[bytes]) -> None:
        with stream:
            while part := os.read(stream.fileno(), 1 << 16):
                if self._bytes < _MOST_RESULT:
                    self._parts.append(part)
                    self._bytes += len(part)

    def text(self) -> str:
        return b"".join(self._parts).decode(errors="replace")


def _pass_on(stream: IO[bytes], say: Callable[[str], None]) -> None:
    """Says each line, without the time before it. A line without end is cut in pieces."""
    with stream:
        while line := stream.readline(_MOST_LINE):
            if text := _STAMP.sub("", line.decode(errors="replace").strip(), count=1):
                say(text)


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
