"""Asks the machine what a running recording shows, and says what goes wrong. No answer and no display ends a run."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from thalweg._base.errors import APPEND_AGAIN
from thalweg._base.stamps import stamped

Answer = TypeVar("Answer")

RECORD_ON = ", and record into another file; this one has all rows that were taken"
_ADVICE = (APPEND_AGAIN, RECORD_ON)


class FreeSpace:
    """Asks for the free space of the file system of a file, also after its folder was renamed."""

    def __init__(self, path: Path) -> None:
        self._folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def bytes(self) -> int:
        found = os.fstatvfs(self._folder)
        return found.f_bavail * found.f_frsize

    def close(self) -> None:
        os.close(self._folder)


class Problems:
    """What went wrong so far. Each problem is said on stderr when it is met, once.

    shows_output: what devices print is said, too."""

    def __init__(self, *, shows_output: bool = False) -> None:
        self.shows_output = shows_output
        self.failures: dict[str, None] = {}  # used as a set that keeps its order
        self.count = 0
        self._said: set[str] = set()
        self.of_file = ""  # what the committer said last about the file, and has not taken back

    def note(self, problem: str, more: str = "") -> None:
        """Says a problem with which the run goes on, and what else is to be said when it is met."""
        problem = problem.replace(*_ADVICE)
        if problem in self._said:
            return
        self._said.add(problem)
        self.count += 1
        _say(problem + more)

    def remark(self, remark: str) -> None:
        """Says once what is to be known of an input. It grows while it is read: only its first numbers are said."""
        kind = re.sub(r"\d[\d.,]*", "#", remark)
        if kind not in self._said:
            self._said.add(kind)
            _say(remark)

    def printed(self, title: str, lines: Iterable[str]) -> None:
        """Says what a device has printed."""
        for line in lines:
            _say(f"{title} printed: {line}")

    def heard(self, problem: str) -> None:
        """Counts what the committer says on stderr about the file, each time that it says something new."""
        if problem and problem != self.of_file:
            self.count += 1
        self.of_file = problem

    def fail(self, problem: str) -> None:
        """Says a problem for which the exit code is 1."""
        problem = problem.replace(*_ADVICE)
        if any(known in problem or problem in known for known in self.failures):  # producers repeat the committer's
            return
        self.note(problem)
        self.failures[problem] = None

    def fail_again(self, before: str, now: str, *, is_said: bool) -> None:
        """Takes note that a failure has happened once more: it stands in the place of what was said of it before."""
        self.failures = {now if each == before else each: None for each in self.failures}
        self.count += 1
        if is_said:
            self._said.add(now)
            _say(now)

    def answer(self, question: Callable[[], Answer], what: str, otherwise: Answer) -> Answer:
        """Returns the answer, or `otherwise` if the machine gives none."""
        try:
            return question()
        except Exception as error:  # whatever it is: a question must not end a recording
            self.note(f"cannot ask for {what} ({_reason(error)}): the run goes on, and asks again")
            return otherwise


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr is closed: the metrics count it
        print(stamped(f"thalweg: {sentence}"), file=sys.stderr, flush=True)  # noqa: T201


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or repr(error)
