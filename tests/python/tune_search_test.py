"""The search of `thalweg tune`: how often it finds the best of 200, and what it names if nothing matters."""

import itertools
import math
import sys

import numpy as np
import pytest
from simulated_law import COMBINATIONS, COUNTS, LAWS

import thalweg as tw
from thalweg._tune.pairs import LOOKS, gain
from thalweg._tune.search import Found, search, why_no_search

RUNS = 46
# The first run, one that is timed, one more without a setting, and one for each value.
RUNS_OF_SCREEN = 3 + sum(COUNTS) - len(COUNTS)


def searched(seconds: dict[tuple[int, ...], float], seed: int, sigma: float) -> Found:
    """Searches on simulated runs, which take longer or shorter by chance."""
    noise = np.random.default_rng(seed)

    def measure(combination: tuple[int, ...], limit_s: float) -> float | None:
        taken = seconds[combination] * noise.lognormal(0, sigma)
        return taken if taken < limit_s else None

    return search(COUNTS, measure, RUNS, seed)


@pytest.mark.parametrize("name", LAWS)
def test_the_best_of_200_is_found_in_60_runs(name: str) -> None:
    seconds = {each: LAWS[name].seconds(each) for each in COMBINATIONS}
    noise = np.random.default_rng(1)
    exhaustive = {each: np.median(seconds[each] * noise.lognormal(0, 0.015, 3)) for each in COMBINATIONS}
    best = seconds[min(exhaustive, key=lambda each: exhaustive[each])]
    assert seconds[COMBINATIONS[0]] > 1.2 * best, "there is something to find"
    found = [searched(seconds, seed, 0.015) for seed in range(10)]
    assert all(each.runs + RUNS_OF_SCREEN <= 60 for each in found)
    assert sum(seconds[each.best] < 1.05 * best for each in found) >= 9


def test_where_nothing_matters_nothing_is_named() -> None:
    seconds = dict.fromkeys(COMBINATIONS, 1.0)
    named = 0
    for seed in range(100):
        winner = searched(seconds, seed, 0.15).best
        noise = np.random.default_rng(1000 + seed)
        default, tried = noise.lognormal(0, 0.15, LOOKS[-1]), noise.lognormal(0, 0.15, LOOKS[-1])
        shown = next((each for look in LOOKS if (each := gain(default[:look], tried[:look])).is_shown), None)
        named += any(winner) and shown is not None and shown.low > 1
    assert named <= 1


def test_a_command_that_always_fails_is_said() -> None:
    with pytest.raises(tw.Error, match="failed in all 12 runs"):
        search((3, 4), lambda _combination, _limit_s: None, 60, 1)


def test_no_combination_is_searched_twice_and_slow_ones_are_ended() -> None:
    asked: list[tuple[tuple[int, ...], float]] = []

    def measure(combination: tuple[int, ...], limit_s: float) -> float | None:
        asked.append((combination, limit_s))
        return None if combination[0] else 1.0 + combination[1]

    found = search((3, 4), measure, 60, 1)
    assert len(found.searched) == 12, "all are known, so that the search ends"
    assert asked[0] == ((0, 0), math.inf)
    assert all(limit == 2.0 for _, limit in asked[1:12])
    assert all(math.isinf(found.searched[each][0]) == bool(each[0]) for each in found.searched)
    assert found.best == (0, 0)
    assert {each: len(runs) for each, runs in found.raced.items()} == {(0, each): 3 for each in range(4)}
    assert found.runs == 12 + 4 * 3, "three rounds decide where one is faster in each of them"


def test_a_few_combinations_are_all_tried_and_no_run_is_wasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)  # nothing is to be guessed
    for counts in ((3, 2), (2,), (6, 7)):
        combinations = list(itertools.product(*map(range, counts)))
        seconds = {each: 1.0 + 0.3 * number for number, each in enumerate(reversed(combinations))}
        found = search(counts, lambda each, limit_s, of=seconds: of[each] if of[each] < limit_s else None, RUNS, 1)
        assert set(found.searched) == set(combinations)
        assert found.best == combinations[-1]
        assert found.runs <= min(RUNS, len(combinations) + 4 * 3)


def test_a_race_goes_on_while_it_is_not_decided() -> None:
    noise = np.random.default_rng(1)
    slow, fast, faster = (0, 0), (0, 1), (1, 0)
    typical = {slow: 1.9, fast: 1.0, faster: 0.97, (1, 1): 1.0}
    found = search((2, 2), lambda each, _: typical[each] * noise.lognormal(0, 0.1), RUNS, 1)
    assert len(found.raced[slow]) == 3, "it is slower in each round, and leaves the race"
    assert max(map(len, found.raced.values())) == 5
    assert found.best != slow
    assert found.runs <= 4 + 4 * 5


def test_a_space_that_nearly_fits_is_tried_whole() -> None:
    found = search((42,), lambda combination, _: 1.0 + combination[0], RUNS, 1)
    assert len(found.searched) == 42
    assert found.runs == RUNS
    assert len(search((43,), lambda combination, _: 1.0 + combination[0], RUNS, 1).searched) == 37


def test_a_search_with_the_same_answers_is_the_same() -> None:
    """Otherwise one that was killed could not go on."""
    seconds = {each: LAWS["four servers"].seconds(each) for each in COMBINATIONS}
    first, again = (searched(seconds, 3, 0.1) for _ in range(2))
    assert first == again


def test_a_space_without_bounds_is_searched() -> None:
    found = search((4,) * 30, lambda combination, _: 1.0 + sum(combination), 12, 1)
    assert 8 <= found.runs <= 12


def test_without_optuna_many_combinations_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_no_search((20, 30), 46) == ""
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert why_no_search((6, 7), 46) == "", "all are tried"
    assert "among 600 combinations (Optuna is not installed): run" in why_no_search((20, 30), 46)
