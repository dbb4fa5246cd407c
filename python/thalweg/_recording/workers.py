"""Starts, controls and watches the producer processes for the recording process."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._base.signals import OF_RECORDING
from thalweg._devices.board import Board
from thalweg._recording.silence import DEADLINE_S, Silence

_MOST_LOG_BYTES = 1 << 20


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Blocks signals in the block: a process that starts in it gets no Ctrl-C before it ignores Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_RECORDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess:
    module = "thalweg._recording.worker"
    has_own_session = False  # then a signal of the terminal does not reach it

    def __init__(self, configuration: dict[str, Any], streams: list[str], deadline_s: float = DEADLINE_S) -> None:
        self.streams = streams
        self.board = Board.create()
        self.silence = Silence(self.board, deadline_s)
        self.ready = threading.Event()  # set when the process is ready or has ended
        self.error = ""
        self.missing: list[str] = []  # of the input, so far
        self.notes: list[str] = []
        self._has_reported = False
        self.killed_for = ""  # what it did not do in time
        self._prepare()
        self._log = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 - close() closes it
        self._shown_bytes = 0
        self._unfinished = b""  # the line that was begun when the log was read last
        fcntl.fcntl(self._log, fcntl.F_SETFL, os.O_APPEND)  # so that it can be made shorter
        with _held_back():
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.module, str(self.board.file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                pass_fds=[self.board.file, *self._inherited(configuration)],
                start_new_session=self.has_own_session,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.say(json.dumps(configuration))

    @staticmethod
    def _inherited(configuration: dict[str, Any]) -> list[int]:
        """Returns the descriptors that the source reads from."""
        return list(configuration.get("source", {}).get("inherited", []))

    def _prepare(self) -> None:
        """Sets up the board before the process begins."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def say(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # the process has ended, and problem() says how

    def kill(self) -> None:
        self._process.kill()

    def is_running(self) -> bool:
        """Returns whether the process runs. It has ended once its output has: `poll` takes some errors for an end."""
        return self._process.poll() is None or self._listener.is_alive()

    def problem(self) -> str:
        """Returns what went wrong once the process has ended, or an empty text."""
        code = self._process.poll()
        if code is None or self._listener.is_alive() or (code == 0 and self._has_reported):
            return ""
        if self.error:
            return self.error
        if self.killed_for:
            return self._of_process(f"{self.killed_for} and was killed")
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code} and no report"
        if code >= 0:
            how += self._last_words()
        return self._of_process(how)

    def _of_process(self, how: str) -> str:
        return (
            f"producer process {self.pid} ({', '.join(self.streams)}) {how}: "
            "the records that it had published by then are in the file"
        )

    def close(self) -> None:
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self.board.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:  # a library has printed something
                continue
            if not isinstance(message, dict):
                continue
            self._hear(message)
            if "ready" in message:
                self.ready.set()
            self._has_reported = self._has_reported or "rows" in message
            self.error = message.get("error", self.error)
            self.missing, self.notes = message.get("missing", self.missing), message.get("notes", self.notes)
        self.ready.set()

    def _hear(self, message: dict[str, Any]) -> None:
        """Takes a message, in the thread that listens."""

    def trim_log(self) -> None:
        """Forgets what the process has printed, if it is much."""
        if os.fstat(self._log.fileno()).st_size > _MOST_LOG_BYTES:
            os.ftruncate(self._log.fileno(), 0)
            self._shown_bytes = 0

    def new_lines(self, has_ended: bool) -> list[str]:
        """Returns the lines that the process has printed since the last call; the one that it has begun once it has
        ended."""
        printed = os.pread(self._log.fileno(), _MOST_LOG_BYTES, self._shown_bytes)
        self._shown_bytes += len(printed)
        *lines, self._unfinished = (self._unfinished + printed).split(b"\n")
        if has_ended and self._unfinished:
            lines, self._unfinished = [*lines, self._unfinished], b""
        return [line.decode(errors="replace") for line in lines]

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return f" ({lines[-1]})" if lines else ""


class RecordingWorkers:
    """All producer processes. Streams are distributed over them in turn."""

    def __init__(
        self,
        handle: str,
        source: dict[str, Any],
        names: list[str],
        processes: int,
        table_prefix: str = "",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._processes: list[WorkerProcess] = []
        try:
            for first in range(processes):
                streams = list(range(first, len(names), processes))
                configuration = {
                    "handle": handle,
                    "source": source,
                    "streams": streams,
                    "table_prefix": table_prefix,
                }
                self._processes.append(WorkerProcess(configuration, [names[stream] for stream in streams], deadline_s))
        except OSError as error:
            self.kill()
            raise SystemError(error.errno, f"cannot start a producer process ({error.strerror})") from None

    def __len__(self) -> int:
        return len(self._processes)

    def start(self, start_ns: int) -> None:
        """Lets all processes take triggers from this time on."""
        self._say(f"start {start_ns}")

    def wait_until_ready(self, timeout_s: float) -> bool:
        return all(process.ready.wait(timeout_s) for process in self._processes)

    def pause(self) -> None:
        self._say("pause")

    def resume(self) -> None:
        self._say("resume")

    def stop(self) -> None:
        self._say("stop")

    def kill(self) -> None:
        for process in self._processes:
            process.kill()

    def look(self) -> None:
        """Kills processes that give no sign of life any more: problems() says it."""
        for process in self._processes:
            if not process.killed_for and process.is_running() and (missed := process.silence.missed()):
                process.killed_for = missed
                process.kill()

    def running(self) -> int:
        return sum(process.is_running() for process in self._processes)

    def problems(self) -> list[str]:
        return [problem for process in self._processes if (problem := process.problem())]

    def missing(self) -> list[str]:
        """Returns what is missing of the inputs so far."""
        return [each for process in self._processes for each in process.missing]

    def notes(self) -> list[str]:
        """Returns what else is to be said of the inputs so far."""
        return [each for process in self._processes for each in process.notes]

    def close(self) -> None:
        for process in self._processes:
            process.close()

    def _say(self, line: str) -> None:
        for process in self._processes:
            process.say(line)


def count_usable_cores() -> int:
    return len(os.sched_getaffinity(0))
