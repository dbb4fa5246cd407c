"""The fastest combination of settings: a search by a model of what was measured, and a race of the best four."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._base.errors import Error, UsageError

Combination = tuple[int, ...]
"""The number of the value of each setting; 0: as it is without the setting."""
Measure = Callable[[Combination, float], float | None]
"""Runs the command with a combination, and ends it after so many seconds. Returns its seconds; None: it did not end in
time, or failed."""

IN_THE_RACE = 4
MOST_TIMES_THE_BEST = 2.0
"""A run of the search that takes so many times as long as the best one is ended."""
_SHARE_OF_SEARCH = 0.8
_FIRST_AT_RANDOM = 4


@dataclass
class Found:
    best: Combination
    searched: dict[Combination, list[float]] = field(default_factory=dict)
    """The seconds of each run of the search; infinite: it did not end in time, or failed."""
    raced: dict[Combination, list[float]] = field(default_factory=dict)
    """The seconds of each run of the race, which decide alone: those of the search are good by chance, too."""

    @property
    def runs(self) -> int:
        return sum(len(each) for each in (*self.searched.values(), *self.raced.values()))


def search(values: Sequence[int], measure: Measure, runs: int, seed: int) -> Found:
    """Returns the best of all combinations that about so many runs find. `values`: how many each setting has, with 0.

    Raises UsageError if Optuna is not installed, and Error if no run succeeds.
    """
    default = (0,) * len(values)
    model = _Model(values, seed)
    known = {default: [_seconds(measure(default, math.inf))]}
    model.tell(default, known[default][0])
    for _ in range(1, round(runs * _SHARE_OF_SEARCH)):
        most = MOST_TIMES_THE_BEST * min(map(min, known.values()))
        asked = model.ask(known)
        if asked is None:  # all were measured
            break
        known[asked] = [_seconds(measure(asked, most))]
        model.tell(asked, min(most, known[asked][0]))
    if not any(math.isfinite(seconds) for runs_of in known.values() for seconds in runs_of):
        raise Error(
            f"the command failed in all {len(known)} runs of the search, also without a setting: mend that first"
        )
    found = Found(default, known)
    _race(found, measure, runs - found.runs, seed)
    return found


def _race(found: Found, measure: Measure, runs: int, seed: int) -> None:
    """Runs the best four in turn, in another order each time."""
    ended = [each for each, seconds in found.searched.items() if math.isfinite(seconds[0])]
    fastest = sorted(ended, key=lambda each: found.searched[each][0])[:IN_THE_RACE]
    found.best = fastest[0]
    order = random.Random(seed)
    for _ in range(runs // len(fastest)):
        for each in order.sample(fastest, len(fastest)):
            found.raced.setdefault(each, []).append(_seconds(measure(each, math.inf)))
    if found.raced:
        found.best = min(fastest, key=lambda each: statistics.fmean(math.log(s) for s in found.raced[each]))


def _seconds(measured: float | None) -> float:
    return math.inf if measured is None else measured


class _Model:
    """Optuna's TPE over all settings together. It may ask for what is known; the nearest that is not is taken then."""

    def __init__(self, values: Sequence[int], seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError(
                "there is nothing to search with (Optuna is not installed): run `pip install 'thalweg[tune]'`, or give "
                "--screen for what the settings change, without times"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna: Any = optuna
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `multivariate` may change in a later version
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=_FIRST_AT_RANDOM)
        self._study = optuna.create_study(sampler=sampler)
        self._values = values
        self._kinds: dict[str, Any] = {
            str(i): optuna.distributions.CategoricalDistribution(list(range(count))) for i, count in enumerate(values)
        }
        self._random = random.Random(seed)

    def ask(self, known: Collection[Combination]) -> Combination | None:
        """Returns what to measure next; None: all is known."""
        trial = self._study.ask(self._kinds)
        asked = tuple(trial.params[name] for name in self._kinds)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)  # it is told when it is measured
        for distance in range(len(self._values) + 1):
            if unknown := [each for each in self._at(distance, asked) if each not in known]:
                return self._random.choice(unknown)
        return None

    def _at(self, distance: int, of: Combination) -> Iterator[Combination]:
        """Yields the combinations in which as many settings have another value."""
        for places in itertools.combinations(range(len(of)), distance):
            others = [[v for v in range(self._values[place]) if v != of[place]] for place in places]
            for values in itertools.product(*others):
                changed = list(of)
                for place, value in zip(places, values, strict=True):
                    changed[place] = value
                yield tuple(changed)

    def tell(self, combination: Combination, seconds: float) -> None:
        params = {str(i): number for i, number in enumerate(combination)}
        self._study.add_trial(self._optuna.trial.create_trial(params=params, distributions=self._kinds, value=seconds))
