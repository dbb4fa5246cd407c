"""Asks one handler again and again how it is, in a thread of its own, so that no page waits for a handler."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._readout.host.exposition import Family, families_of, number

INTERVAL_S = 1.0
STALE_S = 5.0  # a handler that has not answered for so long is not up; a busy machine may take a second
_PATIENCE_S = 4.0
_MOST_BYTES = 64 << 20
_RUNNING_STATES = (2, 3)  # running, paused


class LocalConnection(http.client.HTTPConnection):
    """Speaks HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(path: Path, method: str, page: str, body: bytes | None, timeout_s: float) -> tuple[int, str]:
    """Returns the status and the text of an answer. Raises OSError or HTTPException if there is none."""
    connection = LocalConnection(path, timeout_s)
    try:
        connection.request(method, page, body)
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST_BYTES).decode(errors="replace")
    finally:
        connection.close()


@dataclass(frozen=True)
class Seen:
    """What a handler has answered last. A process that was started since has answered nothing yet."""

    time_s: float = 0.0
    page: dict[str, Family] = field(default_factory=dict)
    not_ready: str = "it has not answered yet"

    @property
    def is_there(self) -> bool:
        return self.time_s > 0

    def age_s(self) -> float:
        return time.monotonic() - self.time_s

    @property
    def run(self) -> int:
        """The number of the run; 0 if there was none."""
        return int(number(self.page, "thalweg_readout_run") or 0)

    @property
    def is_in_run(self) -> bool:
        return number(self.page, "thalweg_readout_state") in _RUNNING_STATES


class Asking:
    """The thread that asks a handler at its control socket. `forget` drops what a process that has ended had said."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen = Seen()
        self._life = 0  # counts the processes, so that no answer of the one before counts for the next one
        self._is_over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._ask_on, daemon=True)
        self._thread.start()

    @property
    def seen(self) -> Seen:
        with self._lock:
            return self._seen

    def forget(self) -> None:
        with self._lock:
            self._life += 1
            self._seen = Seen()

    def look_soon(self) -> None:
        """Asks at once, because the handler has changed."""
        self._wake.set()

    def stop(self) -> None:
        self._is_over = True
        self._wake.set()

    def _ask_on(self) -> None:
        while not self._is_over:
            self._wake.wait(INTERVAL_S)
            self._wake.clear()
            with self._lock:
                life = self._life
            # It may begin, end, hang or be stopped: the age of the last answer says so.
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                self._keep(life, self._look())

    def _look(self) -> Seen:
        began_s = time.monotonic()
        status, text = ask(self._path, "GET", "/metrics", None, _PATIENCE_S)
        if status != http.client.OK:
            raise ValueError(f"/metrics has answered {status}")
        ready, why = ask(self._path, "GET", "/readyz", None, _PATIENCE_S)
        return Seen(began_s, families_of(text), "" if ready == http.client.OK else why.strip())

    def _keep(self, life: int, seen: Seen) -> None:
        with self._lock:
            if life == self._life:
                self._seen = seen
