"""The search of `thalweg tune`: how often it finds the best of 200, and what it names if nothing matters."""

import math

import numpy as np
import pytest
from simulated_law import COMBINATIONS, COUNTS, LAWS

import thalweg as tw
from thalweg._tune.pairs import LOOKS, gain
from thalweg._tune.search import Found, search

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
    assert len(found.raced) == 4
    assert found.runs == 60


def test_a_search_with_the_same_answers_is_the_same() -> None:
    """Otherwise one that was killed could not go on."""
    seconds = {each: LAWS["four servers"].seconds(each) for each in COMBINATIONS}
    first, again = (searched(seconds, 3, 0.1) for _ in range(2))
    assert first == again


def test_a_space_without_bounds_is_searched() -> None:
    found = search((4,) * 30, lambda combination, _: 1.0 + sum(combination), 12, 1)
    assert 8 <= found.runs <= 12
