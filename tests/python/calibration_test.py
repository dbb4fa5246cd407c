"""Gains of detectors that are found by peaks, and followed as they drift: spectra whose gain is known."""

from collections.abc import Iterable

import numpy as np
import pytest

from thalweg._hits.calibration import GainFollower
from thalweg._hits.side_by_side import Hits

PEAKS = {"133": 133.0, "482": 482.0}


def energies_of(count: int, seed: int, lines: Iterable[float] = (133.0, 482.0)) -> np.ndarray:
    """Half of them in peaks of 3.3 % at 662 keV, the others below a Compton edge, or an exponential background."""
    random = np.random.default_rng(seed)
    lines = np.array(list(lines))
    kev = random.choice(lines, count)
    kev += random.normal(size=count) * 0.033 * np.sqrt(662 * kev) / 2.3548
    compton = random.random(count) < 0.4
    kev[compton] = random.uniform(25, 315, np.count_nonzero(compton))
    other = random.random(count) < 0.2
    kev[other] = 25 + random.exponential(150, np.count_nonzero(other))
    return kev


def followed(follower: GainFollower, raw: np.ndarray, piece: int) -> np.ndarray:
    found: list[Hits] = []
    for at in range(0, len(raw), piece):
        found += follower.add((np.arange(at, min(at + piece, len(raw)), dtype=np.uint64), raw[at : at + piece]))
    found += follower.finish()
    np.testing.assert_array_equal(np.concatenate([times for times, _ in found]), np.arange(len(raw)))
    return np.concatenate([energies for _, energies in found])


@pytest.mark.parametrize("gain", [0.0021, 0.021, 1.0, 37.0])
def test_a_gain_of_any_unit_is_found(gain: float) -> None:
    follower = GainFollower(PEAKS)
    kev = energies_of(60_000, 1)
    found = followed(follower, (kev / gain).astype(np.float32), 7000)
    assert follower.gains == pytest.approx([gain] * 3, rel=3e-3)
    np.testing.assert_allclose(found, kev, rtol=4e-3)
    assert follower.doubts == {}


def test_a_gain_that_drifts_is_followed() -> None:
    count = 400_000
    drift = 1 + 0.2 * np.linspace(0, 1, count)
    kev = energies_of(count, 2)
    follower = GainFollower(PEAKS, about=1.0)
    found = followed(follower, (kev * drift).astype(np.float32), 1000)
    assert len(follower.gains) == 20
    assert follower.missed == 0
    # A fit is a part of 20,000 hits late, and of its middle: at most 1.5 % here.
    assert np.abs(found / kev - 1).max() < 0.018
    assert np.abs(kev * drift / kev - 1).max() > 0.19


def test_hits_are_calibrated_alike_in_whatever_pieces_they_come() -> None:
    raw = (energies_of(70_000, 3) * 12).astype(np.float32)
    once = followed(GainFollower(PEAKS), raw, 70_000)
    np.testing.assert_array_equal(followed(GainFollower(PEAKS), raw, 977), once)


def test_few_hits_are_calibrated_at_the_end() -> None:
    raw = (energies_of(5000, 4) / 0.5).astype(np.float32)
    follower = GainFollower(PEAKS)
    assert list(follower.add((np.arange(5000, dtype=np.uint64), raw))) == []
    ((times, found),) = follower.finish()
    assert len(times) == 5000
    np.testing.assert_allclose(found, raw * 0.5, rtol=0.01)


def test_peaks_that_are_not_there_are_said() -> None:
    flat = np.random.default_rng(5).uniform(0, 1000, 60_000).astype(np.float32)
    follower = GainFollower(PEAKS)
    np.testing.assert_array_equal(followed(follower, flat, 60_000), flat)
    assert follower.gain is None
    assert follower.missed == 3
    assert "are not calibrated: the peaks 133 (133 keV), 482 (482 keV) are not found" in follower.sentences("ch0")[0]


def test_a_part_without_peaks_keeps_the_last_gain_and_is_said() -> None:
    raw = energies_of(60_000, 6)
    raw[20_000:40_000] = np.random.default_rng(7).uniform(0, 600, 20_000)
    follower = GainFollower(PEAKS, about=1.0)
    followed(follower, raw.astype(np.float32), 60_000)
    assert follower.missed == 1
    assert "In 1 of 3 parts of ch0 not all peaks are found" in follower.sentences("ch0")[1]


def test_peaks_that_do_not_fit_one_gain_are_named() -> None:
    follower = GainFollower(PEAKS, about=1.0, tolerance=0.005)
    followed(follower, energies_of(40_000, 8, (133.0, 470.0)).astype(np.float32), 40_000)
    assert set(follower.doubts) <= {"133", "482"}
    assert follower.doubts
    assert "away from where the gain of all peaks puts it" in follower.sentences("ch0")[-1]


def test_it_is_checked_against_a_wrong_guess() -> None:
    """A guess that is 30 % off finds no peaks at first: then they are looked for."""
    follower = GainFollower(PEAKS, about=1.2)
    kev = energies_of(40_000, 9)
    followed(follower, kev.astype(np.float32), 40_000)
    assert follower.gains == pytest.approx([1.0, 1.0], rel=3e-3)


def test_it_is_known_how_many_hits_a_first_calibration_waits_for() -> None:
    rng = np.random.default_rng(3)
    follower = GainFollower({"133": 133.0}, about=1.0, every=1000)
    energies = rng.normal(133, 4, 1500)

    def added(part: np.ndarray) -> int:
        return sum(len(times) for times, _ in follower.add((np.arange(len(part)), part)))

    assert follower.waits_for == (0, 1000)
    assert (added(energies[:400]), follower.waits_for) == (0, (400, 1000))
    assert (added(energies[400:]), follower.waits_for) == (1500, None)
