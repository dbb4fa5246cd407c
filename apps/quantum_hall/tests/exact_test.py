"""The order-N code and dense diagonalisation agree, and both agree with what was computed elsewhere."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Hall = Callable[..., dict[str, Any]]

HONEYCOMB = ("--size", "12x12", "--flux", "1/12", "--disorder", 0.3)
SQUARE = ("--lattice", "square", "--size", "9x9", "--flux", "2/9", "--disorder", 0.5, "--seed", 3)


def double_moments(result: dict[str, Any]) -> np.ndarray:
    return np.array(result["double_moments"]["re"]) + 1j * np.array(result["double_moments"]["im"])


def relative(found: Any, expected: Any) -> float:
    """The largest difference, of the largest value."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.fixture(scope="module")
def honeycomb(hall: Hall) -> dict[str, Any]:
    energies = "-2.7084,-2.428,-.4195,.4301"
    return hall("exact", *HONEYCOMB, "--trace", "all", "--double-moments", 8, "--energies", energies)


@pytest.fixture(scope="module")
def square(hall: Hall) -> dict[str, Any]:
    return hall("exact", *SQUARE, "--trace", "all", "--double-moments", 8, "--steps", 1)


def test_diagonalisation_gives_the_reference_values_of_the_honeycomb(honeycomb: dict[str, Any]) -> None:
    assert honeycomb["half_width"] == pytest.approx(3.213, abs=1e-14)
    assert honeycomb["potential"] == pytest.approx([0.13671115, 0.07460487, 0.09860663, 0.09447359], abs=5e-9)
    assert honeycomb["spectrum"] == pytest.approx([-2.881192474447, 2.885986477344], abs=1e-12)
    assert honeycomb["trace_of_square"] == pytest.approx(866.0707458697, abs=1e-9)
    expected = {1: 0.001348785709897, 2: -0.417401414242707, 4: -0.197880624133249, 6: 0.154695301670088}
    assert {m: honeycomb["moments"][m] for m in expected} == pytest.approx(expected, abs=1e-14)
    double = double_moments(honeycomb)
    assert double[3, 4] == pytest.approx(1.00275052e-6 - 4.593417499e-4j, abs=1e-13)
    assert double[7, 6] == pytest.approx(-7.316166645e-6 - 1.176910819e-3j, abs=1e-12)
    displacement = honeycomb["mean_square_displacement"]
    assert [displacement[t - 1] for t in (1, 5, 10)] == pytest.approx(
        [1.3024577857, 17.4119683306, 47.9418850311], abs=1e-10
    )
    assert honeycomb["sigma_xy"] == pytest.approx([1.0000393, 1.9976822, -0.9901162, 0.9901194], abs=1e-7)


def test_diagonalisation_gives_the_reference_values_of_the_square_lattice(square: dict[str, Any]) -> None:
    assert square["half_width"] == pytest.approx(4.335, abs=1e-14)
    assert square["potential"] == pytest.approx([-0.06703065, 0.05612757, 0.1635173, -0.12917251], abs=5e-9)
    assert square["trace_of_square"] == pytest.approx(325.8740410651, abs=1e-9)
    expected = {1: 0.000556243362469, 2: -0.571829699841749, 4: -0.038526884068042}
    assert {m: square["moments"][m] for m in expected} == pytest.approx(expected, abs=1e-14)
    assert double_moments(square)[7, 6] == pytest.approx(2.952444e-5 + 1.4084395605e-2j, abs=1e-11)


def test_traces_over_all_sites_are_exact(hall: Hall, honeycomb: dict[str, Any]) -> None:
    found = hall("moments", *HONEYCOMB, "--trace", "all", "--double-moments", 8)
    assert relative(found["moments"], honeycomb["moments"]) <= 1e-12
    assert relative(double_moments(found), double_moments(honeycomb)) <= 1e-12
    evolved = hall("evolve", *HONEYCOMB, "--trace", "all")
    assert relative(evolved["mean_square_displacement"], honeycomb["mean_square_displacement"]) <= 1e-10


@pytest.mark.parametrize("system", [HONEYCOMB, SQUARE])
def test_random_vectors_are_the_same_in_both(hall: Hall, system: tuple[object, ...]) -> None:
    vectors = ("--random-states", 2, "--steps", 10)
    exact = hall("exact", *system, *vectors, "--double-moments", 100, "--print-states")
    found = hall("moments", *system, *vectors, "--double-moments", 100)
    assert relative(found["moments"], exact["moments"]) <= 1e-12
    assert relative(double_moments(found), double_moments(exact)) <= 1e-12
    evolved = hall("evolve", *system, *vectors, "--print-states")
    assert relative(evolved["psi"], exact["psi"]) <= 1e-12
    assert relative(evolved["xi"], exact["xi"]) <= 1e-12
    assert relative(evolved["mean_square_displacement"], exact["mean_square_displacement"]) <= 1e-10


def test_steps_of_any_length_lead_to_the_same_state(hall: Hall) -> None:
    long_steps = hall("evolve", *HONEYCOMB, "--time-step", 5, "--steps", 2, "--print-states")
    short_steps = hall("evolve", *HONEYCOMB, "--time-step", 0.25, "--steps", 40, "--print-states")
    assert relative(short_steps["psi"], long_steps["psi"]) <= 1e-12
    assert relative(short_steps["xi"], long_steps["xi"]) <= 1e-12


def test_without_field_and_disorder_conduction_is_ballistic(hall: Hall) -> None:
    """All states of the clean square lattice move at their velocity, so momenta can be summed by hand."""
    size, count, energies = 24, 64, [-1.5, 0.3, 1.0]
    found = hall(
        *("evolve", "--lattice", "square", "--size", f"{size}x{size}", "--trace", "cell", "--moments", count),
        *("--steps", 4, "--time-step", 0.5, "--energies", ",".join(map(str, energies))),
    )
    assert found["mean_square_displacement"] == pytest.approx([2 * t * t for t in found["times"]], rel=1e-12)
    momenta = 2 * np.pi * np.arange(size) / size
    x, y = np.meshgrid(momenta, momenta)
    half_width = found["half_width"]
    angle = np.arccos((-2 * np.cos(x) - 2 * np.cos(y)) / half_width)
    m = np.arange(count)
    weights = 4 * np.sin(x) ** 2
    moments = np.array([(weights * np.cos(k * angle)).sum() for k in m])
    q = np.pi / (count + 1)
    jackson = ((count - m + 1) * np.cos(q * m) + np.sin(q * m) / np.tan(q)) / (count + 1)
    scaled = np.array(energies) / half_width
    terms = np.cos(np.outer(np.arccos(scaled), m)) * (2 - (m == 0)) * jackson * moments
    velocities = terms.sum(axis=1) / (np.pi * half_width * np.sqrt(1 - scaled**2)) / size**2
    times = np.array([0, *found["times"]])
    expected = np.pi * velocities * np.diff(times**2)[:, None] / np.diff(times)[:, None]
    assert found["sigma_xx"]["sigma_xx"] == pytest.approx(expected.ravel(), rel=1e-10)
