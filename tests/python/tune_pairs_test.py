"""Gains of `thalweg tune`: intervals as scipy has them, and how often a gain is claimed that is none."""

import math

import numpy as np
import pytest
from scipy import stats

from thalweg._tune.pairs import LOOKS, T_QUANTILES, gain


@pytest.mark.parametrize("pairs", LOOKS)
def test_the_interval_is_that_of_students_t(pairs: int) -> None:
    random = np.random.default_rng(pairs)
    default, tried = random.lognormal(0.3, 0.2, pairs), random.lognormal(0, 0.2, pairs)
    found = gain(default, tried)
    low, high = stats.ttest_rel(np.log(default), np.log(tried)).confidence_interval(0.995)
    assert found.low == pytest.approx(math.exp(low), rel=1e-3)
    assert found.high == pytest.approx(math.exp(high), rel=1e-3)
    assert T_QUANTILES[pairs] == pytest.approx(stats.t.ppf(0.9975, pairs - 1), abs=1e-3)


def shown(ratio: float, sigma: float, trials: int, seed: int) -> float:
    """The share of trials in which a difference is claimed at any of the looks."""
    random = np.random.default_rng(seed)
    claims = 0
    for _ in range(trials):
        default, tried = ratio * random.lognormal(0, sigma, LOOKS[-1]), random.lognormal(0, sigma, LOOKS[-1])
        claims += any(gain(default[:look], tried[:look]).is_shown for look in LOOKS)
    return claims / trials


def test_where_there_is_no_gain_few_are_claimed() -> None:
    assert shown(1.0, 0.28, 2000, 1) < 0.02  # 1 % is expected; 2 % is 4.5 sigma more


def test_a_gain_of_one_and_a_half_is_shown_under_noise_of_a_factor_of_three() -> None:
    assert shown(1.5, 0.28, 1000, 2) > 0.9
