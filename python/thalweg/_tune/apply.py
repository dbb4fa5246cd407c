"""Runs a command with a file of settings, and says which of them do nothing there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._tune.account import differences
from thalweg._tune.bench import Bench, Say
from thalweg._tune.settings_file import read_settings
from thalweg._tune.trial import Verdict, try_settings


@dataclass
class Applied:
    verdict: Verdict
    inert: list[str] = field(default_factory=list)
    """The settings without which the I/O is the same here."""

    @property
    def has_failed(self) -> bool:
        return self.verdict.has_failed

    def lines(self) -> Iterator[str]:
        yield from self.verdict.lines()
        yield from (f"inert here: {each}" for each in self.inert)

    def to_dict(self) -> dict[str, Any]:
        return {"verdict": self.verdict.to_dict(), "inert": self.inert}


def apply(bench: Bench, file: Path, most_pairs: int, say: Say) -> Applied:
    """Runs the command with all settings of the file, and without each of them. What it leaves with them remains.

    Raises UsageError if the file was found with another MPI, or is no file of settings.
    """
    settings = read_settings(file)
    settings.check_mpi(bench.first.mpi)
    verdict = try_settings(bench, settings.chosen, most_pairs, say, remains=True)
    found = Applied(verdict)
    if verdict.failed or verdict.lacks or not verdict.is_io_steady:
        return found
    if verdict.is_inert:
        found.inert = verdict.settings
        return found
    for left_out in settings.chosen if len(settings.chosen) > 1 else ():
        others = [each for each in settings.chosen if each is not left_out]
        say(f"running it without {left_out}, traced")
        tried = bench.traced(others)
        if not tried.run.how_it_ended and differences(bench.first.io, tried.io) == verdict.io:
            found.inert.append(str(left_out))
    return found
