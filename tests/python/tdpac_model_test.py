"""TDPAC: expected spectra and fits, against integrals computed another way, and against toys."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import quad
from tdpac_toys import HAFNIUM, INDIUM, toy

import thalweg as tw
from thalweg import tdpac
from thalweg._hyperfine.places import PLACES, turned
from thalweg._hyperfine.spins import lines
from thalweg.tdpac.model import FieldModel
from thalweg.tdpac.response import FWHM, binned, folded

HF_SITE = "[[site]]\nomega0 = 0.8\neta = 0.3\ndelta = 0.02\n"


def test_a_folded_decay_is_its_convolution_with_a_gauss_curve() -> None:
    sigma = 0.3 / FWHM
    for rate in (0.064, 0.064 + 2.5j, 0.1 + 0.3j):
        times = np.array([-1.5, -0.3, -0.05, 0.0, 0.05, 0.2, 0.7, 1.4, 30.0])
        found = folded(times, np.array([rate], complex), sigma)[0]
        for time, value in zip(times, found, strict=True):

            def part(s: float, time: float = time, rate: complex = rate) -> complex:
                bell = math.exp(-0.5 * ((time - s) / sigma) ** 2) / sigma / math.sqrt(2 * math.pi)
                return complex(np.exp(-rate * s) * bell)

            low, high = max(0.0, time - 8 * sigma), max(0.0, time + 8 * sigma)
            real, imaginary = (quad(lambda s, f=f: f(part(s)), low, high)[0] for f in (np.real, np.imag))
            assert value == pytest.approx(complex(real, imaginary), abs=1e-9)


def test_bins_are_integrals_and_nothing_overflows() -> None:
    sigma, rates = 0.3 / FWHM, np.array([0.064, 0.1 + 3.2j], complex)
    edges = np.array([-300.0, -0.4, -0.1, 0.0, 0.13, 0.5, 2.5, 900.0])
    found = binned(edges, rates, sigma)
    assert np.isfinite(found).all()
    for index, rate in enumerate(rates):
        for bin_ in range(1, len(edges) - 2):
            fine = np.linspace(edges[bin_], edges[bin_ + 1], 20_001)
            expected = np.trapezoid(folded(fine, np.array([rate]), sigma)[0], fine)
            assert found[index][bin_] == pytest.approx(expected, abs=1e-8)
    assert found[0].sum() == pytest.approx(1 / 0.064, rel=1e-9)


def test_shapes_of_a_powder_are_those_of_w() -> None:
    config = tdpac.parse_config('places = "axes"\nhalf-angle = 20\nresolution = 300\n' + HF_SITE)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    model = FieldModel(config, classes)
    edges = np.array([-0.5, -0.1, 0.1, 0.4, 1.0, 1.1, 5.0, 20.0])
    found = model.shapes(model.start, edges)
    sigma, decay = 0.3 / FWHM, math.log(2) / 10.8
    omegas, weights2, weights4 = lines(2.5, 0.8, 0.3)
    c = math.cos(math.radians(20))
    q2, q4 = c * (1 + c) / 2, c * (1 + c) * (7 * c * c - 3) / 8
    step = 0.002
    times = np.arange(0, 60, step) + step / 2
    damped = np.cos(np.outer(times, omegas)) * np.exp(-0.02 * np.outer(times, omegas))
    for row, (p2, p4) in zip(found, ((1, 1), (-0.5, 0.375)), strict=True):
        w = 1 - 0.288 * q2**2 * p2 * (damped @ weights2) - 0.076 * q4**2 * p4 * (damped @ weights4)
        emitted = decay * np.exp(-decay * times) * w
        kernel = np.exp(-0.5 * (np.arange(-500, 501) * step / sigma) ** 2)
        seen = np.convolve(np.concatenate([np.zeros(1000), emitted]), kernel / kernel.sum(), "same")
        at = np.concatenate([times[0] - step * np.arange(1000, 0, -1), times])
        for index in range(len(edges) - 1):
            inside = (at > edges[index]) & (at < edges[index + 1])
            assert row[index] == pytest.approx(seen[inside].sum() * step, rel=2e-3, abs=2e-6)


def test_a_field_along_an_axis_has_the_exact_ratio() -> None:
    text = "A44 = 0.0\nresolution = 1\n[[site]]\nlarmor = 0.2\naxis = [0, 0, 1]\n"
    config = tdpac.parse_config('places = "plane"\n' + text)
    classes = tdpac.pair_classes(config.directions(4), config.sites)
    chosen = tdpac.classes.ratio_classes(classes)
    assert chosen is not None
    model = FieldModel(config, chosen)
    edges = np.arange(1, 40, 0.01)
    w180, w90 = model.shapes(model.start, edges)
    times, a = (edges[1:] + edges[:-1]) / 2, -0.288
    turn = np.cos(2 * 0.2 * times)
    np.testing.assert_allclose(2 * (w180 - w90) / (w180 + 2 * w90), a * turn / (1 + a / 4 - a / 4 * turn), atol=2e-5)


def test_turned_patterns_are_the_same_for_any_pair() -> None:
    text = "resolution = 1\n[[site]]\nlarmor = 0.3\naxis = [1, 2, 0.5]\n"
    config = tdpac.parse_config('places = "axes"\n' + text)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    model = FieldModel(config, classes)
    edges = np.arange(1, 12, 0.002)
    times, decay = (edges[1:] + edges[:-1]) / 2, math.log(2) / 10.8
    axis = np.array(config.sites[0].axis)
    places = config.directions(6)
    found = model.shapes(model.start, edges) / (decay * np.exp(-decay * times) * 0.002)
    assert sum(len(each.pairs) for each in classes) == 30
    for row, each in zip(found, classes, strict=True):
        for start, stop in each.pairs:
            cosine = turned(places[start], axis, 0.3 * times) @ places[stop]
            p2, p4 = 1.5 * cosine**2 - 0.5, (35 * cosine**4 - 30 * cosine**2 + 3) / 8
            np.testing.assert_allclose(row, 1 - 0.288 * p2 - 0.076 * p4, atol=3e-4)


@pytest.mark.parametrize(
    ("places", "sites", "expected"),
    [
        ("axes", HF_SITE, {180: [6], 90: [24]}),
        ("plane", HF_SITE, {180: [4], 90: [8]}),
        ("axes", "[[site]]\nlarmor = 0.1\naxis = [0, 0, 1]\n", {180: [2, 4], 90: [8, 16]}),
        ("plane", "[[site]]\nlarmor = 0.1\naxis = [0, 0, 1]\n", {180: [4], 90: [8]}),
        ("axes", "", {180: [6], 90: [24]}),
    ],
)
def test_classes_follow_from_places_and_symmetry(places: str, sites: str, expected: dict[int, list[int]]) -> None:
    config = tdpac.parse_config(f'places = "{places}"\n' + sites)
    classes = tdpac.pair_classes(config.directions(len(PLACES[places])), config.sites)
    found: dict[int, list[int]] = {}
    for each in classes:
        found.setdefault(round(each.angle_deg), []).append(len(each.pairs))
    assert {angle: sorted(sizes) for angle, sizes in found.items()} == expected


def test_merged_classes_of_a_field_along_z_do_not_fit_and_the_plane_does() -> None:
    text = "[[site]]\nlarmor = 0.3\naxis = [0, 0, 1]\n"
    config = tdpac.parse_config('places = "axes"\nrange = [-150, 80]\nresolution = 300\n' + text)
    spectra = toy(config, 3e6, seed=1)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    plane = tdpac.fit_ratio(tdpac.ratio_of(spectra, classes), config)
    assert plane.is_valid
    assert 0.8 < plane.reduced < 1.2
    assert abs(plane.values["larmor"] - 0.3) < 4 * plane.errors["larmor"]
    powder = tdpac.parse_config('places = "axes"\nrange = [-150, 80]\nresolution = 300\n[[site]]\nlarmor = 0.3\n')
    merged = tdpac.ratio_of(spectra, tdpac.pair_classes(powder.directions(6), powder.sites))
    assert tdpac.fit_ratio(merged, powder).reduced > 3


@pytest.mark.parametrize(("config", "truth"), [HAFNIUM, INDIUM], ids=["181Hf", "111In"])
@pytest.mark.parametrize("method", ["ratio", "spectra"])
def test_fits_of_toys_find_the_truth(config: tdpac.TdpacConfig, truth: dict[str, float], method: str) -> None:
    spectra = toy(config, 1e6, seed=3)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    if method == "ratio":
        fitted = tdpac.fit_ratio(tdpac.ratio_of(spectra, classes), config)
    else:
        fitted = tdpac.fit_spectra(spectra, classes, config)
    assert fitted.is_valid
    assert abs(fitted.reduced - 1) < 4 * math.sqrt(3 / fitted.ndf)  # some bins have about one count
    for name, value in truth.items():
        assert abs(fitted.values[name] - value) < 3 * fitted.errors[name], name
    if method == "spectra":
        return
    # The errors at 10^7 coincidences, for which R(t) is meant, are a third of these.
    relative = {name: fitted.errors[name] / abs(value) / math.sqrt(10) for name, value in truth.items()}
    limits = {"omega0": 0.0015, "larmor": 0.0015, "eta": 0.01, "A22": 0.015, "delta": 0.06 if "eta" in truth else 0.10}
    for name, value in relative.items():
        assert value < limits[name], name


def test_pulls_of_toys_are_those_of_a_gauss_curve(request: pytest.FixtureRequest) -> None:
    config, truth = HAFNIUM
    count = 100 if request.config.getoption("--long") else 6
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    pulls = []
    for seed in range(count):
        fitted = tdpac.fit_ratio(tdpac.ratio_of(toy(config, 1e6, seed=100 + seed), classes), config)
        assert fitted.is_valid
        pulls.append([(fitted.values[name] - value) / fitted.errors[name] for name, value in truth.items()])
    means, widths = np.mean(pulls, axis=0), np.std(pulls, axis=0, ddof=1)
    if count == 100:
        assert np.all(np.abs(means) < 0.3)
        assert np.all((widths > 0.8) & (widths < 1.2))
    else:
        assert np.all(np.abs(means) < 4 / math.sqrt(count))
        assert np.all(widths < 2.5)


@pytest.mark.parametrize("detectors", [4, 6])
@pytest.mark.parametrize("omega0", [0.1, 0.8])
def test_the_half_life_does_not_depend_on_the_field(detectors: int, omega0: float) -> None:
    text = f"resolution = 300\n[[site]]\nomega0 = {omega0}\neta = 0.3\ndelta = 0.02\n"
    config = tdpac.parse_config(f'places = "{"axes" if detectors == 6 else "plane"}"\n' + text)
    classes = tdpac.pair_classes(config.directions(detectors), config.sites)
    found = tdpac.fit_half_life(toy(config, 1e7, seed=5), classes, config)
    assert found.cancels
    assert found.weights == ({"180": 2.0, "90": 1.0} if detectors == 6 else {"180": 1.0, "90": 1.0})
    value, error = (each["half_life"] for each in (found.fitted.values, found.fitted.errors))
    assert abs(value - 10.8) < 3 * error
    assert error < 0.0015 * 10.8


def test_random_coincidences_that_are_fewer_before_time_zero_do_not_move_the_half_life() -> None:
    """Detectors that are dead after a hit do that: with 1 us the background is 6 % less before time zero."""
    config, _ = HAFNIUM
    spectra = toy(config, 1e7, seed=5)
    flat = 1e7 / 30 * math.log(2) / 10.8 * 0.1 / 100
    more = np.random.default_rng(1).poisson(0.06 * flat, spectra.counts.shape)
    spectra.counts[:, :, spectra.edges_ns[:-1] >= 0] += more[:, :, spectra.edges_ns[:-1] >= 0]
    fitted = tdpac.fit_half_life(spectra, tdpac.pair_classes(config.directions(6), config.sites), config).fitted
    assert abs(fitted.values["half_life"] - 10.8) < 3 * fitted.errors["half_life"]


def test_time_zero_and_resolution_come_from_all_spectra_at_once() -> None:
    config, _ = HAFNIUM
    free = dataclasses.replace(config, resolution_ps=None)
    late = (0.0, 110.0, -230.0, 350.0, -70.0, 190.0)
    spectra = toy(config, 1e6, seed=8, late_ps=late, time_zero_ps=50.0)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    fitted = tdpac.fit_time_zero(spectra, classes, free)
    assert fitted.is_valid
    found = [fitted.values["time_zero"], *(fitted.values[f"delay_{number}"] for number in range(6))]
    errors = [fitted.errors["time_zero"], *(fitted.errors[f"delay_{number}"] for number in range(6))]
    for value, truth, error in zip(found, (50.0, *late), errors, strict=True):
        assert abs(value - truth) <= 4 * error
        assert error < 5 * math.sqrt(10)
    assert fitted.values["resolution"] == pytest.approx(300, rel=0.03)


def test_no_counts_in_a_pair_and_no_counts_at_all_are_said() -> None:
    config, _ = HAFNIUM
    spectra = toy(config, 2e5, seed=4)
    spectra.counts[0, 1] = 0
    analysis = tdpac.analyse_spectra(spectra, config)
    assert analysis.fit is not None
    assert analysis.fit.is_valid
    assert analysis.fit.method == "spectra"
    assert analysis.ratio is not None
    assert not analysis.ratio.usable.any()  # a geometric mean with a 0 is none
    spectra.counts[...] = 0
    empty = tdpac.analyse_spectra(spectra, config)
    assert empty.fit is None
    assert "nothing is fitted" in empty.notes[0]


def test_a_fit_that_cannot_converge_says_so() -> None:
    config = tdpac.parse_config(HF_SITE)
    noise = toy(config, 1e5, seed=1)
    noise.counts[...] = np.random.default_rng(1).poisson(50, noise.counts.shape)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    with pytest.raises(tw.UsageError, match="bins with enough counts"):
        tdpac.fit_ratio(tdpac.ratio_of(noise, classes), config)
