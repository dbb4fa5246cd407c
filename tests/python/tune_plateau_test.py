"""k: the bytes with which a writer has 90 % of the plateau of its bandwidth, from times of writes."""

import numpy as np
import pytest

from thalweg._base.errors import UsageError
from thalweg._tune.plateau import plateau
from thalweg._tune.timed_writes import Effort

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4 * KIB << i for i in range(15)]  # up to 64 MiB
LATENCIES_AND_BANDWIDTHS = [(1e-3, 100e6), (5e-3, 100e6), (200e-6, 2e9), (50e-3, 20e6), (20e-6, 400e6)]


def noisy(
    typical: dict[int, float], seed: int, noise: float, repeats: int = Effort().repeats
) -> dict[int, list[float]]:
    """Times with noise to both sides, of which every tenth is three times as long."""
    random = np.random.default_rng(seed)
    found = {}
    for size, seconds in typical.items():
        drawn = seconds * np.exp(random.normal(0, noise, repeats))
        drawn[random.random(repeats) < 0.1] *= 3
        found[size] = drawn.tolist()
    return found


def of_law(latency_s: float, bandwidth: float, sizes: list[int] = SIZES) -> dict[int, float]:
    return {size: latency_s + size / bandwidth for size in sizes}


@pytest.mark.parametrize(("latency_s", "bandwidth"), LATENCIES_AND_BANDWIDTHS)
def test_a_law_without_noise(latency_s: float, bandwidth: float) -> None:
    found = plateau({size: [seconds] for size, seconds in of_law(latency_s, bandwidth).items()})
    assert found.k == pytest.approx(9 * latency_s * bandwidth, rel=1e-3)
    assert found.bandwidth == pytest.approx(bandwidth, rel=1e-3)
    assert found.latency_s == pytest.approx(latency_s, rel=1e-3)


@pytest.mark.parametrize(("latency_s", "bandwidth"), LATENCIES_AND_BANDWIDTHS)
def test_a_law_under_noise(latency_s: float, bandwidth: float) -> None:
    expected = 9 * latency_s * bandwidth
    found = [plateau(noisy(of_law(latency_s, bandwidth), seed, 0.05)) for seed in range(100)]
    within = sum(abs((each.k or 0) / expected - 1) <= 0.1 for each in found)
    assert within >= 95
    covered = sum(each.low <= expected <= each.high for each in found)
    assert covered >= 75  # the interval of 90 % comes from nine times a size


def in_stripes(latency_s: float, bandwidth: float, stripe: int) -> dict[int, float]:
    """One writer waits for each stripe."""
    return {size: -(-size // stripe) * latency_s + size / bandwidth for size in SIZES}


@pytest.mark.parametrize(("latency_s", "bandwidth"), [(2e-3, 100e6), (5e-3, 400e6)])
def test_stripes_are_no_law_and_are_read_off(latency_s: float, bandwidth: float) -> None:
    times = in_stripes(latency_s, bandwidth, MIB)
    highest = MIB / (latency_s + MIB / bandwidth)
    expected = 0.9 * highest * latency_s / (1 - 0.9 * highest / bandwidth)
    for found in (plateau({size: [each] for size, each in times.items()}), plateau(noisy(times, 3, 0.01))):
        assert found.latency_s is None
        assert found.bandwidth == pytest.approx(highest, rel=0.02)
        assert found.k == pytest.approx(expected, rel=0.1)


def test_a_plateau_that_is_not_reached_is_said() -> None:
    # 9 * 50 ms * 400 MB/s = 180 MB; the largest write has 67 MB.
    for found in (
        plateau({size: [each] for size, each in of_law(50e-3, 400e6).items()}),
        plateau(noisy(of_law(50e-3, 400e6), 1, 0.05)),
        plateau({size: [size**0.6] for size in SIZES}),
    ):
        assert found.k is None
        assert found.high == found.largest == SIZES[-1]


def test_a_storage_without_latency_is_busy_with_any_write() -> None:
    found = plateau({size: [size / 1e9] for size in SIZES})
    assert found.k is not None
    assert found.k <= SIZES[0]


def test_a_bandwidth_that_falls_again_is_one_level() -> None:
    """A cache of the device takes the first 16 MiB."""
    times = {size: 1e-3 + size / 400e6 + max(0, size - 16 * MIB) / 100e6 for size in SIZES}
    found = plateau({size: [each] for size, each in times.items()})
    assert found.latency_s is None
    assert found.k is not None
    assert found.k < 9 * 1e-3 * 400e6


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({}, "0 sizes of writes"),
        ({1: [1.0], 2: [1.0], 4: [1.0]}, "3 sizes of writes"),
        ({1: [1.0], 2: [0.0], 4: [1.0], 8: [1.0]}, "writes of 2 bytes"),
        ({1: [1.0], 2: [1.0], 4: [], 8: [1.0]}, "writes of 4 bytes"),
        ({1: [1.0], 2: [1.0], 4: [float("nan")], 8: [1.0]}, "writes of 4 bytes"),
        ({0: [1.0], 2: [1.0], 4: [1.0], 8: [1.0]}, "writes of 0 bytes"),
    ],
)
def test_times_that_show_nothing_are_refused(times: dict[int, list[float]], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plateau(times)
