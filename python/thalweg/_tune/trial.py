"""Tries settings: what they change in the I/O, whether the data stay the same, and what they gain."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.quantities import as_duration, counted
from thalweg._tune.account import differences
from thalweg._tune.bench import Bench, Say, Traced
from thalweg._tune.pairs import LOOKS, Gain, gain
from thalweg._tune.settings import Chosen


@dataclass
class Verdict:
    """What is known of the settings that were tried together."""

    settings: list[str]
    ways: list[str]
    failed: str = ""
    """How the command ended with them, if it did not succeed; nothing else is known then."""
    io: list[str] = field(default_factory=list)
    """What changed in the I/O, a sentence for each file; empty: nothing, so that they are inert here."""
    lacks: list[str] = field(default_factory=list)
    """What a trace does not have, so that the I/O proves nothing."""
    is_io_steady: bool = True
    """False: two runs without them differ, too, so that the I/O proves nothing."""
    data: list[str] = field(default_factory=list)
    """What is other in the outputs; empty: the data are the same."""
    are_values_compared: bool = True
    """False: two runs without them write other values, so that only names, shapes and types were compared."""
    opened: list[str] = field(default_factory=list)
    """Whether HDF5 1.10 opens the outputs, if one of the settings may change that."""
    has_outputs: bool = True
    gain: Gain | None = None
    default_s: list[float] = field(default_factory=list)
    tried_s: list[float] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        return bool(self.failed or self.data or self.lacks)

    @property
    def is_inert(self) -> bool:
        return not self.failed and not self.lacks and self.is_io_steady and not self.io

    def lines(self) -> Iterator[str]:
        """Yields the verdict as sentences."""
        yield f"tried: {', '.join(self.settings)} (by {', '.join(dict.fromkeys(self.ways))})"
        if self.failed:
            yield f"the command does not work with it: {self.failed}"
            return
        if self.lacks:
            yield "I/O: a trace lacks calls, so nothing can be told from it:"
            yield from (f"  {each}" for each in self.lacks)
        elif not self.is_io_steady:
            yield "I/O: it differs between two runs without the setting, too, so nothing can be told from it"
        elif self.is_inert:
            yield "I/O: the same calls, bytes, locks and writers: the setting is inert here"
        else:
            yield from (f"I/O: {each}" for each in self.io)
        if not self.has_outputs:
            yield "data: the command leaves no file in this folder, so there is nothing to compare"
        elif self.data:
            yield from (f"data: {each}" for each in self.data)
        elif self.are_values_compared:
            yield "data: the same"
        else:
            yield "data: the same names, shapes and types (two runs without the setting have other values, too)"
        yield from (f"format: {each}" for each in self.opened)
        if self.gain is not None:
            yield f"time: {self.gain}; without it {as_duration(statistics.median(self.default_s))}"

    def to_dict(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name != "gain"}
        found["is_inert"] = self.is_inert
        found["gain"] = None if self.gain is None else vars(self.gain) | {"is_shown": self.gain.is_shown}
        return found


def try_settings(
    bench: Bench, chosen: Sequence[Chosen], most_pairs: int, say: Say, *, remains: bool = False
) -> Verdict:
    """Runs the command with the settings, too, and compares it with the first run, which was without them. remains:
    what it leaves with them remains in the end."""
    check_pairs(most_pairs)
    found = Verdict([str(each) for each in chosen], [each.setting.way.value for each in chosen])
    say(f"running it with {', '.join(found.settings)}, traced")
    tried = bench.traced(chosen, remains=remains)
    _compare(found, bench, tried, say)
    if not found.failed and most_pairs:
        time_pairs(found, bench, chosen, most_pairs, say)
    return found


def check_pairs(most_pairs: int) -> None:
    """Raises UsageError if it is not one of the numbers at which intervals are looked at."""
    if most_pairs not in (0, *LOOKS):
        looks = ", ".join(map(str, LOOKS))
        raise UsageError(f"the number of pairs cannot be {most_pairs}: give 0 (time nothing) or one of {looks}")


def _compare(found: Verdict, bench: Bench, tried: Traced, say: Say) -> None:
    first = bench.first
    found.has_outputs = bool(first.files)
    if tried.run.how_it_ended:
        found.failed = tried.run.how_it_ended
        return
    found.lacks = list(dict.fromkeys([*first.lacks, *tried.lacks]))
    found.io = differences(first.io, tried.io)
    found.data, found.opened = tried.data, tried.opened
    if found.io or found.data:  # is it by the setting, or by chance?
        say("running it without the setting once more, traced")
        again = bench.traced([])
        found.is_io_steady = not differences(first.io, again.io)
        if found.data and again.data:
            found.are_values_compared = False
            found.data = tried.shapes


def time_pairs(found: Verdict, bench: Bench, chosen: Sequence[Chosen], most_pairs: int, say: Say) -> None:
    ways: list[tuple[Sequence[Chosen], list[float]]] = [([], found.default_s), (chosen, found.tried_s)]
    for pair in range(1, most_pairs + 1):
        for settings, seconds in ways if pair % 2 else reversed(ways):
            run = bench.timed(settings)
            if run.how_it_ended:
                found.failed = f"{run.how_it_ended} (in pair {pair}, {'with' if settings else 'without'} the setting)"
                return
            seconds.append(run.seconds)
        if pair in LOOKS:
            found.gain = gain(found.default_s, found.tried_s)
            say(f"{counted(pair, 'pair')}: {found.gain}")
            if found.gain.is_shown:
                return
