"""Fits that begin at a wrong frequency, end at a limit, or have no field to find."""

import dataclasses

import pytest
from tdpac_toys import HAFNIUM, INDIUM, toy

from thalweg import tdpac
from thalweg.tdpac.analysis import analyse_spectra


@pytest.mark.parametrize("factor", [0.4, 2.0, 3.0])
@pytest.mark.parametrize(("config", "truth"), [HAFNIUM, INDIUM], ids=["181Hf", "111In"])
def test_a_wrong_start_finds_the_same_field(config: tdpac.TdpacConfig, truth: dict[str, float], factor: float) -> None:
    spectra = toy(config, 3e5, seed=11)
    name = "omega0" if "omega0" in truth else "larmor"
    (site,) = config.sites
    wrong = dataclasses.replace(config, sites=(dataclasses.replace(site, **{name: factor * truth[name]}),))
    analysis = analyse_spectra(spectra, wrong)
    assert analysis.problems == []
    for fitted in (analysis.fit, analysis.time_zero):
        assert fitted is not None
        assert fitted.is_valid
        assert abs(fitted.values[name] - truth[name]) < 5 * fitted.errors[name]
        assert fitted.errors[name] < 0.02 * truth[name]


def test_errors_do_not_depend_on_a_parameter_that_ends_at_its_limit() -> None:
    """Held at its limit from the beginning, the parameter leaves the same errors to the others: by another way."""
    config, _ = HAFNIUM
    (site,) = config.sites
    sharp = dataclasses.replace(config, sites=(dataclasses.replace(site, delta=0.0),))
    without = ("A22", "omega0", "eta")
    ended = 0
    for seed in range(6):
        spectra = toy(sharp, 1e5, seed=seed)
        classes = tdpac.pair_classes(sharp.directions(6), sharp.sites)
        fitted = tdpac.fit_spectra(spectra, classes, sharp)
        if "delta" not in fitted.at_limit:
            continue
        ended += 1
        held = tdpac.fit_spectra(spectra, classes, dataclasses.replace(sharp, free=without))
        for name in without:
            assert fitted.errors[name] == pytest.approx(held.errors[name], rel=0.05)
        assert "delta = 0 (its limit)" in fitted.sentences()[0]
    assert ended > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_field_that_is_not_there_is_not_a_result(seed: int) -> None:
    config, _ = HAFNIUM
    isotropic = toy(dataclasses.replace(config, a22=0.0, a44=0.0), 3e5, seed=seed)
    analysis = analyse_spectra(isotropic, config)
    assert analysis.fit is not None
    assert not analysis.fit.is_valid or any("no anisotropy is seen" in each for each in analysis.problems)


def test_without_a_site_the_fit_says_what_is_missing() -> None:
    config, _ = HAFNIUM
    nothing = tdpac.parse_config('isotope = "181Hf"\nplaces = "axes"\nresolution = 300\n')
    analysis = analyse_spectra(toy(config, 3e5, seed=2), nothing)
    assert not analysis.converged
    assert any("has no [[site]]" in each for each in analysis.problems)
