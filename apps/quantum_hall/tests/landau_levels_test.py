"""Landau levels and the integers of the Hall conductivity."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Hall = Callable[..., dict[str, Any]]

# (cells that the phase takes to repeat) → levels 1, 2 and 3 of the lattice
HARPER = {
    48: [0.4667939, 0.6464976, 0.7740168],
    100: [0.3268456, 0.4578744, 0.5553304],
    400: [0.1645699, 0.2322046, 0.2837364],
}


def levels(hall: Hall, period: int) -> np.ndarray:
    """Means of levels 1 to 3, which two valleys have each."""
    energies = hall("exact", "--bloch", "--size", f"3x{period}", "--flux", f"1/{period}")["energies_at_zero"]
    positive = np.array(energies[period + 1 :][:6])
    return positive.reshape(3, 2).mean(axis=1)


def law(period: int) -> np.ndarray:
    """Returns the level of massless particles: sqrt(2 sqrt(3) pi flux n), for a hopping and a bond of one."""
    return np.sqrt(2 * np.sqrt(3) * np.pi / period * np.arange(1, 4))


@pytest.mark.parametrize("period", HARPER)
def test_levels_of_the_lattice_are_the_reference_values(hall: Hall, period: int) -> None:
    # At one momentum, levels 2 and 3 are not quite flat if the field is high.
    assert levels(hall, period) == pytest.approx(HARPER[period], abs=2e-6)


@pytest.mark.parametrize("period", [280, 400])
def test_levels_follow_the_root_where_the_field_is_low(hall: Hall, period: int) -> None:
    assert levels(hall, period) == pytest.approx(law(period), rel=0.01)


def test_levels_do_not_follow_the_root_where_it_is_high(hall: Hall) -> None:
    assert np.all(levels(hall, 48) / law(48) - 1 < [-0.018, -0.038, -0.058])


def test_the_density_of_states_peaks_at_the_levels(hall: Hall) -> None:
    found = hall("dos", "--size", "97x96", "--flux", "1/48", "--trace", "cell", "--moments", 2048)
    energies, dos = np.array(found["energies"]), np.array(found["dos"])
    for level in HARPER[48]:
        near = np.flatnonzero(np.abs(energies - level) < 0.03)
        peak = near[np.argmax(dos[near])]
        # The top of a parabola through three points of the logarithm, as the kernel is nearly a Gaussian.
        bend, slope, _ = np.polyfit(energies[peak - 1 : peak + 2] - energies[peak], np.log(dos[peak - 1 : peak + 2]), 2)
        assert energies[peak] - slope / (2 * bend) == pytest.approx(level, abs=2e-4)
    # A level holds one state a flux quantum and valley.
    middle = (energies > -0.23) & (energies < 0.23)
    states = float((dos[middle][1:] * np.diff(energies[middle])).sum())
    assert states * 2 == pytest.approx(2 / 48, rel=0.01)


def test_clean_plateaus_are_integers(hall: Hall) -> None:
    system = ("--size", "49x48", "--flux", "1/48", "--energies", "0.23,0.556")
    found = hall("hall", *system, "--trace", "cell", "--moments", 1024)
    assert 2 * np.array(found["sigma_xy"]) == pytest.approx([2, 6], rel=0.002)
    exact = hall("exact", "--bloch", *system)
    assert 2 * np.array(exact["sigma_xy"]) == pytest.approx([2, 6], abs=1e-6)


# Thouless, Kohmoto, Nightingale, den Nijs: the integer in gap r of the square lattice is what solves r = q s + p t.
TKNN = [
    ("61x65", "1/5", {-2.1253: 1, -0.6397: 2}),
    ("61x91", "1/7", {-2.5089: 1, -1.3095: 2, -0.4042: 3}),
    ("61x65", "2/5", {-0.9452: 1}),
    ("61x91", "2/7", {-1.6255: 1, -0.3861: -2}),
    ("61x104", "3/8", {-2.1374: -2, -1.0658: 1}),
]


@pytest.mark.parametrize(("size", "flux", "integers"), TKNN)
def test_integers_of_the_square_lattice(hall: Hall, size: str, flux: str, integers: dict[float, int]) -> None:
    energies = ",".join(map(str, integers))
    system = ("--lattice", "square", "--size", size, "--flux", flux, "--energies", energies)
    exact = hall("exact", "--bloch", *system)["sigma_xy"]
    assert exact == pytest.approx(list(integers.values()), abs=1e-3)
    found = hall("hall", *system, "--trace", "cell", "--moments", 512)["sigma_xy"]
    assert found == pytest.approx(list(integers.values()), abs=0.02)


def test_landau_levels_of_the_square_lattice_count(hall: Hall) -> None:
    system = ("--lattice", "square", "--size", "31x112", "--flux", "1/16")
    bands = np.array(hall("exact", "--bloch", *system)["energies_at_zero"])
    gaps = (bands[:6] + bands[1:7]) / 2
    exact = hall("exact", "--bloch", *system, "--energies", ",".join(map(str, gaps)))["sigma_xy"]
    assert exact == pytest.approx([1, 2, 3, 4, 5, 6], abs=1e-3)


def test_random_vectors_find_the_plateaus_within_their_errors(hall: Hall) -> None:
    system = ("--size", "49x48", "--flux", "1/48", "--disorder", 0.1, "--energies", "0.23,0.556")
    found = hall("hall", *system, "--random-states", 8, "--moments", 256)
    sigma, error = 2 * np.array(found["sigma_xy"]), 2 * np.array(found["error"])
    # 256 moments are too few for the second one; the first has little bias.
    assert 0 < error[0] < 0.5
    assert abs(sigma[0] - 2) <= 4 * error[0]


@pytest.mark.usefixtures("slow")
@pytest.mark.timeout(3600)
def test_plateaus_of_a_disordered_sample(hall: Hall) -> None:
    found = hall(
        *("hall", "--size", "96x96", "--flux", "1/48", "--disorder", 0.1, "--random-states", 32, "--moments", 1024),
        *("--energies", "0.23,0.556"),
        timeout_s=3600,
    )
    sigma, error = 2 * np.array(found["sigma_xy"]), 2 * np.array(found["error"])
    assert sigma == pytest.approx([2, 6], rel=0.05)
    assert np.all(np.abs(sigma - [2, 6]) <= 3 * error)
