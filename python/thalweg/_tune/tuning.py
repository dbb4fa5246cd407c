"""`thalweg tune -- COMMAND`: a screen, a search over what it has left, and the winner against the command as it is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg._base.quantities import counted
from thalweg._tune.advice import SETTING_NAMES, Advice, KnownK, advise
from thalweg._tune.bench import Bench, Say
from thalweg._tune.screen import Screen, screen
from thalweg._tune.search import Combination, Found, search, why_no_search
from thalweg._tune.settings import Chosen
from thalweg._tune.settings_file import SettingsFile
from thalweg._tune.space import Space, space_of
from thalweg._tune.trial import Verdict, try_settings

SEED = 39
LEAST_RUNS = 4


@dataclass
class Tuned:
    screen: Screen
    aggregators: Advice | None = None
    """None: ranks do not write together, or nothing was tried."""
    runs: int = 0
    """How many runs the search and the race have had."""
    combinations: int = 1
    """How many there are of the settings that were searched."""
    tried: int = 0
    """How many of them were tried, each in one run."""
    in_race: int = 0
    """How many of these were compared in further runs."""
    winner: Verdict | None = None
    """None: nothing was searched, or the command is fastest as it is."""
    file: str = ""
    """The file of settings; empty: no gain is shown, so that there is none."""
    problem: str = ""
    """Why nothing is searched."""

    @property
    def has_failed(self) -> bool:
        return bool(self.screen.lacks or self.problem) or (self.winner is not None and self.winner.has_failed)

    def lines(self) -> Iterator[str]:
        if self.aggregators is not None:
            yield from self.aggregators.lines()
        yield from self.screen.lines()
        if self.problem:
            yield self.problem
        if not self.runs:
            return
        race = f"; {counted(self.runs - self.tried, 'run')} of the best {self.in_race} in turn" if self.in_race else ""
        yield f"searched: {self.tried} of {counted(self.combinations, 'combination')} in a run each{race}"
        if self.winner is None:
            yield "no combination is faster than the command as it is"
            return
        yield from self.winner.lines()
        if self.file:
            yield f"settings: {self.file}; `thalweg tune --apply {self.file} -- COMMAND` uses them"
        else:
            yield "no gain is shown, so no file of settings is written"

    def to_dict(self) -> dict[str, Any]:
        winner = None if self.winner is None else self.winner.to_dict()
        aggregators = None if self.aggregators is None else self.aggregators.to_dict()
        return vars(self) | {"screen": self.screen.to_dict(), "aggregators": aggregators, "winner": winner}


@dataclass(frozen=True)
class TuningOptions:
    only: Collection[str] = ()
    """The settings that are searched; none: all."""
    may_change_file: bool = False
    always: bool = False
    runs: int = 46
    most_pairs: int = 40
    out: Path = Path("settings.json")
    k_bytes: int | None = None
    """The bytes that keep one aggregator busy. None: they are measured."""


def tune(bench: Bench, options: TuningOptions, say: Say) -> Tuned:
    """Searches the fastest combination, and writes a file of settings if the gain is shown."""
    advice: Advice | None = None

    def more() -> list[Chosen]:
        nonlocal advice
        if not options.only or SETTING_NAMES.intersection(options.only):
            advice = aggregators_of(bench, options.k_bytes, say)
        return advice.settings() if advice is not None else []

    screened = screen(bench, say, options.only, more, may_change_file=options.may_change_file, always=options.always)
    found = Tuned(screened, advice)
    space = space_of(found.screen)
    if found.screen.lacks or not space.settings or options.runs < LEAST_RUNS:
        return found
    if problem := why_no_search(space.counts, options.runs):
        found.problem = problem
        return found
    searched = _search(bench, space, options.runs, say)
    found.runs, found.tried, found.in_race = searched.runs, len(searched.searched), len(searched.raced)
    found.combinations = math.prod(space.counts)
    chosen = space.chosen(searched.best)
    if not chosen:
        return found
    found.winner = try_settings(bench, chosen, options.most_pairs, say)
    gain = found.winner.gain
    if not found.has_failed and gain is not None and gain.low > 1:
        SettingsFile(chosen, bench.first.mpi, _evidence(found.winner, searched, space)).write(options.out)
        found.file = str(options.out)
    return found


def aggregators_of(bench: Bench, k_bytes: int | None, say: Say) -> Advice | None:
    """Returns how many aggregators the collective calls of the first run need; None: it has none."""
    calls = bench.first.together
    if not calls.kinds and not calls.left_out:
        return None
    k: dict[str, KnownK] = {}
    for each in calls.kinds:
        if each.kind in k:
            continue
        if k_bytes is not None:
            k[each.kind] = KnownK.given(k_bytes)
        else:
            folder = (bench.folder / each.file).parent
            say(f"timing {each.kind}s in {folder}, for the bytes that keep one aggregator busy")
            k[each.kind] = bench.measured_k(folder, each.kind)
    return advise(calls, k, bench.first.libraries)


def _search(bench: Bench, space: Space, runs: int, say: Say) -> Found:
    done = 0

    def measure(combination: Combination, limit_s: float) -> float | None:
        nonlocal done
        done += 1
        chosen = space.chosen(combination)
        say(f"run {done} of at most {runs}: {', '.join(map(str, chosen)) or 'without a setting'}")
        run = bench.timed(chosen, limit_s)
        return None if run.how_it_ended else run.seconds

    return search(space.counts, measure, runs, SEED)


def _evidence(winner: Verdict, searched: Found, space: Space) -> dict[str, Any]:
    gain = winner.gain
    assert gain is not None
    return {
        "faster": {"times": gain.ratio, "low": gain.low, "high": gain.high, "pairs": gain.pairs},
        "io": winner.io,
        "data": "the same" if winner.are_values_compared else "the same names, shapes and types",
        "searched_s": _named(searched.searched, space),
        "raced_s": _named(searched.raced, space),
    }


def _named(seconds: dict[Combination, list[float]], space: Space) -> dict[str, list[float | None]]:
    """Returns the seconds by settings; None: a run that was ended, or failed."""
    return {
        " ".join(map(str, space.chosen(each))) or "none": [s if s < float("inf") else None for s in runs]
        for each, runs in seconds.items()
    }
