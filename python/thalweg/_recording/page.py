"""The process that shows a recording as a page: `thalweg watch`. Whatever becomes of it, the recording goes on."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from thalweg._base.address import host_and_port
from thalweg._base.errors import UsageError
from thalweg._recording.options import RecordOptions

WATCH_OPTIONS = ("config", "token-file", "host-name", "silence", "priority", "slices")
_LAST_LOOK_S = 10.0
_TERMINATED_S = 5.0
_CHECKED_S = 60.0
_TICK_S = 0.05


def watch_words(options: RecordOptions) -> list[str]:
    """Returns the options of `thalweg watch`, or nothing if no page is wanted. Raises UsageError if they are wrong."""
    given = options.watch_option or []
    if not options.watch:
        if given:
            raise UsageError(f"--watch-option {given[0]} has no page (--watch is not given): give --watch 7782, too")
        return []
    host_and_port(options.watch, "--watch")
    words = ["--listen", options.watch]
    for each in given:
        name, is_option, value = each.partition("=")
        if not is_option or name not in WATCH_OPTIONS:
            raise UsageError(
                f"--watch-option {each} is not known (the page of a recording has {', '.join(WATCH_OPTIONS)}): give "
                "NAME=VALUE"
            )
        words.append(f"--{name}={value}")
    return words


class CheckedOptions:
    """Lets `thalweg watch` itself check the options, in a process of its own, while the devices open: a page whose
    options are wrong would be seen when the run has begun. `note` says that they could not be checked."""

    def __init__(self, words: list[str], path: Path, note: Callable[[str], None]) -> None:
        self._note = note
        self._process: subprocess.Popen[str] | None = None
        if not words:
            return
        try:
            self._process = subprocess.Popen(
                [*_command(path, words), "--only-check"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            self._are_not_checked(str(error.strerror))

    def wait(self) -> None:
        """Raises UsageError if the options are wrong. A check that does not come to its end says nothing of them."""
        if self._process is None:
            return
        try:
            _, said = self._process.communicate(timeout=_CHECKED_S)
        except subprocess.TimeoutExpired:
            self._are_not_checked(f"that takes longer than {_CHECKED_S:g} s")
            return
        code = self._process.returncode
        if code < 0:
            self._are_not_checked(f"the check has ended {_ending(code)}")
        elif code > 0:
            why = said.strip().removeprefix("thalweg: ")
            raise UsageError(f"the page of --watch cannot be shown: {why}")

    def _are_not_checked(self, why: str) -> None:
        self._note(f"the options of the page are not checked ({why}): the recording begins, and the page may not")

    def kill(self) -> None:
        """Ends the process, if it is there."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _command(path: Path, words: list[str]) -> list[str]:
    return [sys.executable, "-m", "thalweg", "watch", str(path.absolute()), "--end-with-run", *words]


class RunPage:
    """`say` says where the page is, and `note` a problem with which the recording goes on."""

    def __init__(self, words: list[str], say: Callable[[str], None], note: Callable[[str], None]) -> None:
        self._words = words
        self._say, self._note = say, note
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = b""

    def start(self, path: Path) -> None:
        if not self._words:
            return
        try:
            # In a session of its own: Ctrl-C is for the recording, and the page ends behind it.
            self._process = subprocess.Popen(
                _command(path, self._words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            assert self._process.stderr
            os.set_blocking(self._process.stderr.fileno(), False)
        except OSError as error:
            self._note(f"the page cannot be shown ({error.strerror}): the recording goes on")

    def look(self, may_end: bool) -> None:
        """Says what the process has said, and that it has ended, unless it may have shown the end of the recording."""
        if self._process is None:
            return
        code = self._process.poll()
        self._hear(self._process)
        if code is not None:
            if code or not may_end:
                self._note(f"the page has ended {_ending(code)}: the recording goes on without it")
            self._forget()

    def end(self, is_given_up: Callable[[], bool], while_waiting: Callable[[], None]) -> None:
        """Waits until the page has shown the end of the recording, for ten seconds at most, and ends it."""
        if self._process is None:
            return
        process, begin = self._process, time.monotonic()
        while process.poll() is None and not is_given_up() and time.monotonic() < begin + _LAST_LOOK_S:
            self._hear(process)
            while_waiting()
            time.sleep(_TICK_S)
        if process.poll() is None and not is_given_up():
            self._note(f"the page did not come to the end of the recording within {_LAST_LOOK_S:g} s: it is ended")
        elif process.poll():
            self._note(f"the page has ended {_ending(process.returncode)}")
        self.kill()

    def kill(self) -> None:
        """Ends the process, if it is there."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_TERMINATED_S)
        self._process.kill()
        self._process.wait()
        self._hear(self._process)
        self._forget()

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr
        while chunk := process.stderr.read(1 << 16):
            self._heard += chunk
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._repeat(line)

    def _repeat(self, line: bytes) -> None:
        text = line.decode(errors="replace").strip()
        if " is shown at " in text:
            self._say(text)
        elif text:
            self._note(f"the page says: {text.removeprefix('thalweg: ')}")

    def _forget(self) -> None:
        self._repeat(self._heard)
        self._heard = b""
        if self._process is not None and self._process.stderr:
            self._process.stderr.close()
        self._process = None


def _ending(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with code {code}"
