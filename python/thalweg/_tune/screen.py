"""Which settings change anything: one traced run for each value, and no times. The I/O of a run is the same in every
run of a command, so one is enough."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._tune.account import Accounts, differences
from thalweg._tune.bench import Bench, Say, Traced
from thalweg._tune.choice import candidates
from thalweg._tune.settings import Chosen

LEAST_SHARE = 0.05


@dataclass
class Screened:
    """Values with the same effect."""

    settings: list[str]
    io: list[str]
    """What they change, a sentence for each file."""
    data: list[str]
    """What is other in the outputs; empty: the data are the same."""
    calls: int
    """The reads and writes of all files with them."""
    opened: list[str] = field(default_factory=list)
    """Whether HDF5 1.10 opens the outputs, if they may change that."""


@dataclass
class Screen:
    share_of_time: float
    """The part of the time that calls of files in this folder take in the process with most: no setting gains more."""
    is_tried: bool = False
    lacks: list[str] = field(default_factory=list)
    """What a trace does not have, so that the I/O proves nothing."""
    is_io_steady: bool = True
    are_values_compared: bool = True
    """False: two runs without a setting write other values, so that only names, shapes and types were compared."""
    effects: list[Screened] = field(default_factory=list)
    inert: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """How the command ended, by value."""

    def lines(self) -> Iterator[str]:
        share = f"calls of files in this folder take {self.share_of_time:.0%} of the time"
        if self.lacks:
            yield "a trace lacks calls, so nothing can be told from it:"
            yield from (f"  {each}" for each in self.lacks)
            return
        if not self.is_tried:
            yield f"{share}: no setting can gain more, so none is tried (--always tries them)"
            return
        yield f"{share}, which is the most that a setting can gain"
        if not self.is_io_steady:
            yield "the I/O differs between two runs without a setting, too, so nothing can be told from it"
            return
        for each in self.effects:
            yield f"{' = '.join(each.settings)}: {'; '.join(each.io)}"
            yield from (f"  but the data are other: {text}" for text in each.data)
            yield from (f"  {text}" for text in each.opened)
        for name, how in self.failed.items():
            yield f"{name}: the command does not work with it: {how}"
        if self.inert:
            yield f"inert here: {', '.join(self.inert)}"
        if self.effects:
            best = min(self.effects, key=lambda each: (bool(each.data), each.calls))
            yield f"to measure the one with the fewest calls: thalweg tune --try {best.settings[0]} -- COMMAND"

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"effects": [vars(each) for each in self.effects]}


def screen(
    bench: Bench,
    say: Say,
    only: Collection[str] = (),
    more: Callable[[], Sequence[Chosen]] = list,
    *,
    may_change_file: bool,
    always: bool = False,
) -> Screen:
    """Runs the command once for each value of each setting of the libraries that it uses; unless `always`, only if its
    I/O takes LEAST_SHARE of the time. more: is called then, and returns further values."""
    say("timing it")
    # The calls take longer in the traced run, and so does the process. What it does after its last call, or lets others
    # do, is in the time of the command.
    found = Screen(min(1.0, bench.first.io_s / max(bench.first.elapsed_s, bench.timed([]).seconds)))
    found.lacks = bench.first.lacks
    found.is_tried = not found.lacks and (always or found.share_of_time >= LEAST_SHARE)
    if not found.is_tried:
        return found
    say("running it without a setting once more, traced")
    again = bench.traced([])
    found.is_io_steady = not differences(bench.first.io, again.io)
    found.are_values_compared = not again.data
    if found.is_io_steady:
        values = candidates(bench.first.libraries, only, more(), may_change_file=may_change_file)
        _try_each(found, bench, values, say)
    return found


def _try_each(found: Screen, bench: Bench, values: Sequence[Chosen], say: Say) -> None:
    known: list[tuple[Accounts, Screened]] = []
    for number, each in enumerate(values):
        say(f"{number + 1} of {len(values)}: {each}")
        tried = bench.traced([each])
        if tried.run.how_it_ended:
            found.failed[str(each)] = tried.run.how_it_ended
        else:
            found.lacks += tried.lacks
            _sort_in(found, known, bench.first, tried, str(each))


def _sort_in(found: Screen, known: list[tuple[Accounts, Screened]], first: Traced, tried: Traced, name: str) -> None:
    changes = differences(first.io, tried.io)
    data = tried.data if found.are_values_compared else tried.shapes
    if not changes and not data:
        found.inert.append(name)
        return
    for io, other in known:
        if not differences(io, tried.io) and other.data == data:
            other.settings.append(name)
            return
    calls = sum(each.reads + each.writes for each in tried.io.values())
    found.effects.append(Screened([name], changes, data, calls, tried.opened))
    known.append((tried.io, found.effects[-1]))
