"""The fastest combination of settings: a search by a model of what was measured, and a race of the best four."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg._base.errors import Error

Combination = tuple[int, ...]
"""The number of the value of each setting; 0: as it is without the setting."""
Measure = Callable[[Combination, float], float | None]
"""Runs the command with a combination, and ends it after so many seconds. Returns its seconds; None: it did not end in
time, or failed."""

IN_THE_RACE = 4
MOST_TIMES_THE_BEST = 2.0
"""A run of the search that takes so many times as long as the best one is ended."""
MOST_ROUNDS = 5
"""The race has no more rounds: the winner is compared with the command as it is, in as many pairs or more."""
_SHARE_OF_SEARCH = 0.8
_FIRST_AT_RANDOM = 4
_LEAST_ROUNDS = 3
_CLEARLY = 1.05
"""After the least rounds, one that has been slower than the leader by this factor in each of them leaves the race."""


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


def why_no_search(values: Sequence[int], runs: int) -> str:
    """Returns why so many runs cannot search these settings, or an empty text. `values`: as for `search`."""
    if _are_few(values, runs):
        return ""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "optuna"
        why = "Optuna is not installed" if is_missing else f"Optuna cannot be imported: {error}"
    else:
        return ""
    combinations = math.prod(values)
    enough = round(combinations / _SHARE_OF_SEARCH) + 1
    return (
        f"nothing is searched among {combinations:,} combinations ({why}): run "
        f"`{sys.executable} -m pip install 'thalweg[tune]'`, or give --runs {enough} or fewer settings by --only"
    )


def _are_few(values: Sequence[int], runs: int) -> bool:
    """Returns whether all combinations are tried."""
    return math.prod(values) <= max(round(runs * _SHARE_OF_SEARCH), runs - IN_THE_RACE)


def search(values: Sequence[int], measure: Measure, runs: int, seed: int) -> Found:
    """Returns the best of all combinations that at most so many runs find. If there are not more combinations than the
    search has runs, each is tried. `values`: how many each setting has, with 0.

    Raises Error if no run succeeds.
    """
    default = (0,) * len(values)
    found = Found(default, {default: [_seconds(measure(default, math.inf))]})
    if _are_few(values, runs):
        _try_all(found, values, measure, seed)
    else:
        _search(found, values, measure, round(runs * _SHARE_OF_SEARCH), seed)
    if not any(math.isfinite(seconds) for runs_of in found.searched.values() for seconds in runs_of):
        raise Error(
            f"the command failed in all {len(found.searched)} runs of the search, also without a setting: mend that "
            "first"
        )
    _race(found, measure, runs - found.runs, seed)
    return found


def _try_all(found: Found, values: Sequence[int], measure: Measure, seed: int) -> None:
    others = [each for each in itertools.product(*map(range, values)) if each not in found.searched]
    for each in random.Random(seed).sample(others, len(others)):
        found.searched[each] = [_seconds(measure(each, _limit_s(found)))]


def _search(found: Found, values: Sequence[int], measure: Measure, most: int, seed: int) -> None:
    model = _Model(values, seed)
    model.tell(found.best, found.searched[found.best][0])
    for _ in range(1, most):
        limit_s = _limit_s(found)
        asked = model.ask(found.searched)
        found.searched[asked] = [_seconds(measure(asked, limit_s))]
        model.tell(asked, min(limit_s, found.searched[asked][0]))


def _limit_s(found: Found) -> float:
    return MOST_TIMES_THE_BEST * min(map(min, found.searched.values()))


def _race(found: Found, measure: Measure, runs: int, seed: int) -> None:
    """Runs the best four in turn, in another order each time, until one is left or the rounds are over."""
    ended = [each for each, seconds in found.searched.items() if math.isfinite(seconds[0])]
    racing = sorted(ended, key=lambda each: found.searched[each][0])[:IN_THE_RACE]
    found.best = racing[0]
    order = random.Random(seed)
    for done in range(1, MOST_ROUNDS + 1):
        if len(racing) == 1 or len(racing) > runs:
            return
        runs -= len(racing)
        for each in order.sample(racing, len(racing)):
            found.raced.setdefault(each, []).append(_seconds(measure(each, math.inf)))
        found.best = min(racing, key=lambda each: statistics.fmean(math.log(s) for s in found.raced[each]))
        if done >= _LEAST_ROUNDS:
            racing = [each for each in racing if each == found.best or not _is_slower(found, each)]


def _is_slower(found: Found, one: Combination) -> bool:
    """Returns whether one was clearly slower than the leader in each round."""
    both = zip(found.raced[one], found.raced[found.best], strict=True)
    return all(its_s > _CLEARLY * best_s for its_s, best_s in both)


def _seconds(measured: float | None) -> float:
    return math.inf if measured is None else measured


class _Model:
    """Optuna's TPE over all settings together. It may ask for what is known; the nearest that is not is taken then."""

    def __init__(self, values: Sequence[int], seed: int) -> None:
        import optuna  # an extra: `why_no_search` says so where it is missing

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

    def ask(self, known: Collection[Combination]) -> Combination:
        """Returns what to measure next. There must be something that is not known."""
        trial = self._study.ask(self._kinds)
        asked = tuple(trial.params[name] for name in self._kinds)
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)  # it is told when it is measured
        for distance in range(len(self._values) + 1):
            if unknown := [each for each in self._at(distance, asked) if each not in known]:
                return self._random.choice(unknown)
        raise AssertionError("all combinations are known")

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
