"""Hyperfine fields: the sums of cosines of the core of an analysis, against closed forms and another way to compute."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

import thalweg as tw
from thalweg._hyperfine.isotopes import SPIN
from thalweg._hyperfine.places import attenuation, places_of, turned
from thalweg._hyperfine.sites import Site, sites_of
from thalweg._hyperfine.spins import hamiltonian, lines, operators, tensors

TIMES = np.linspace(0, 40, 101)


def factors(**field: float) -> tuple[np.ndarray, np.ndarray]:
    omegas, weights2, weights4 = lines(SPIN, **field)
    waves = np.cos(np.outer(TIMES, omegas))
    return waves @ weights2, waves @ weights4


def test_a_quadrupole_field_without_asymmetry_has_the_closed_form() -> None:
    g22, g44 = factors(omega0=0.8)
    wave = [np.cos(n * 0.8 * TIMES) for n in range(4)]
    np.testing.assert_allclose(g22, (7 * wave[0] + 13 * wave[1] + 10 * wave[2] + 5 * wave[3]) / 35, atol=1e-12)
    np.testing.assert_allclose(g44, wave[0] / 9 + 5 / 21 * wave[1] + 2 / 7 * wave[2] + 23 / 63 * wave[3], atol=1e-12)


def test_a_magnetic_field_in_a_powder_has_the_closed_form() -> None:
    g22, g44 = factors(larmor=0.3, beta=0.7, gamma=0.2)
    np.testing.assert_allclose(g22, (1 + 2 * np.cos(0.3 * TIMES) + 2 * np.cos(0.6 * TIMES)) / 5, atol=1e-12)
    np.testing.assert_allclose(g44, (1 + 2 * sum(np.cos(n * 0.3 * TIMES) for n in range(1, 5))) / 9, atol=1e-12)


@pytest.mark.parametrize(
    ("eta", "omegas", "weights"),
    [
        (0.5, [0, 1.2416, 1.9144, 3.1560], [0.2373, 0.3296, 0.2841, 0.1490]),
        (1.0, [0, 1.7638, 3.5277], [0.2583, 0.5889, 0.1528]),
    ],
)
def test_lines_of_asymmetric_fields_are_those_of_the_tables(eta: float, omegas: list, weights: list) -> None:
    found, weights2, _ = lines(SPIN, omega0=1.0, eta=eta)
    np.testing.assert_allclose(found, omegas, atol=5e-5)
    np.testing.assert_allclose(weights2, weights, atol=5e-5)


@pytest.mark.parametrize("eta", [0.0, 0.3, 0.5, 1.0])
def test_levels_solve_their_cubic_equation(eta: float) -> None:
    levels = np.linalg.eigvalsh(hamiltonian(SPIN, 6.0, eta, 0, 0, 0))
    np.testing.assert_allclose(levels**3 - 28 * (3 + eta**2) * levels, 160 * (1 - eta**2), atol=1e-9)


@pytest.mark.parametrize(
    "field",
    [
        {"omega0": 0.8, "eta": 0.3},
        {"omega0": 0.8, "eta": 0.3, "larmor": 0.25, "beta": 0.6, "gamma": 1.1},
        {"omega0": 0.1, "eta": 1.0, "larmor": 0.9, "beta": math.pi / 2},
    ],
)
def test_any_field_turns_the_tensors_as_the_evolution_does(field: dict[str, float]) -> None:
    everything = {"omega0": 0.0, "eta": 0.0, "larmor": 0.0, "beta": 0.0, "gamma": 0.0, **field}
    turning = hamiltonian(SPIN, **everything)
    found = dict(zip((2, 4), factors(**field), strict=True))
    for k in (2, 4):
        for index in (0, 7, 50, 100):
            evolution = expm(-1j * turning * TIMES[index])
            overlap = sum(np.trace(each.conj().T @ evolution @ each @ evolution.conj().T) for each in tensors(SPIN, k))
            assert found[k][index] == pytest.approx(overlap.real / (2 * k + 1), abs=1e-10)


def test_operators_and_tensors_are_what_they_should_be() -> None:
    x, y, z = operators(SPIN)
    np.testing.assert_allclose(x @ y - y @ x, 1j * z, atol=1e-12)
    for k in (2, 4):
        for number, each in enumerate(tensors(SPIN, k)):
            assert np.trace(each.conj().T @ each).real == pytest.approx(1)
            np.testing.assert_allclose(z @ each - each @ z, (k - number) * each, atol=1e-12)


def test_cones_attenuate_as_their_mean_over_directions() -> None:
    alpha = math.radians(20)
    cosine = np.linspace(math.cos(alpha), 1, 200_001)
    q2, q4 = attenuation(alpha)
    assert q2 == pytest.approx(np.mean(1.5 * cosine**2 - 0.5), abs=1e-5)
    assert q4 == pytest.approx(np.mean((35 * cosine**4 - 30 * cosine**2 + 3) / 8), abs=1e-5)


def test_places_are_unit_vectors_and_turns_keep_them() -> None:
    assert places_of("axes", 6, "x").shape == (6, 3)
    np.testing.assert_allclose(places_of([[2, 0, 0], [0, 0, -5]], 2, "x"), [[1, 0, 0], [0, 0, -1]])
    quarter = turned(np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([math.pi / 2]))
    np.testing.assert_allclose(quarter, [[0, 1, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "detectors", "said"),
    [
        (None, 5, "places of 5 detectors are not known"),
        ("moon", 6, "there are no places 'moon'"),
        ("plane", 6, "places of 4 detectors"),
        ([[0, 0, 0], [1, 0, 0]], 2, "give a list of vectors"),
        ([[1, 0], [1, 0, 0]], 2, "give a list of vectors"),
        (7, 2, "give a list of vectors"),
    ],
)
def test_wrong_places_are_refused(given: object, detectors: int, said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        places_of(given, detectors, "file")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([], "write \\[\\[site\\]\\]"),
        ({"omega0": 1}, "write \\[\\[site\\]\\]"),
        ([{"omega": 1.0}], "no 'omega'.*did you mean 'omega0'"),
        ([{"omega0": "fast"}], "give a number"),
        ([{"omega0": -1.0}], "from 0 on"),
        ([{"eta": 1.5, "omega0": 1.0}], "both are between 0 and 1"),
        ([{"shape": "box"}], "there are lorentz, gauss"),
        ([{"fraction": 0.4}], "they must be 1"),
        ([{"axis": [0, 0, 0], "larmor": 1.0}], "give a vector"),
        ([{"axis": [0, 0, 1]}], "give it larmor"),
        ([{"axis": [0, 0, 1], "larmor": 0.1, "omega0": 1.0}], "neither omega0 nor delta"),
    ],
)
def test_wrong_sites_are_refused(tables: object, said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        sites_of(tables, "file")


def test_no_site_is_no_field() -> None:
    assert sites_of(None, "file") == (Site(),)
    omegas, weights2, weights4 = Site().lines()
    assert (list(omegas), list(weights2), list(weights4)) == ([0.0], [pytest.approx(1)], [pytest.approx(1)])
