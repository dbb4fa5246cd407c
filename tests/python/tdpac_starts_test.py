"""Fits that begin at a wrong frequency, end at a limit, or have no field to find."""

import dataclasses
from pathlib import Path

import h5py
import pytest
from tdpac_toys import HAFNIUM, INDIUM, toy

import thalweg as tw
from thalweg import tdpac
from thalweg._watching.fits import analysed
from thalweg.tdpac.analysis import analyse_spectra
from thalweg.tdpac.results import save


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


def test_a_parameter_at_its_limit_has_no_error_wherever_it_is_shown(tmp_path: Path) -> None:
    config, _ = HAFNIUM
    (site,) = config.sites
    sharp = dataclasses.replace(config, sites=(dataclasses.replace(site, delta=0.0),))
    for seed in range(6):
        spectra = toy(sharp, 1e5, seed=seed)
        analysis = analyse_spectra(spectra, sharp)
        if analysis.fit is not None and analysis.fit.at_limit == ("delta",):
            break
    assert analysis.fit is not None
    assert analysis.fit.at_limit == ("delta",)
    save(analysis, tmp_path / "spectra.h5")
    with h5py.File(tmp_path / "spectra.h5") as file:
        shown = {
            name: (each.attrs["at_limit"], each.attrs["error"] > 0)
            for name, each in file["tdpac/fit"].items()
            if name != "covariance"
        }
    assert shown.pop("delta") == (True, False)
    assert set(shown.values()) == {(False, True)}
    (values,) = (each["values"] for each in analysed(spectra, sharp)["fits"] if each["name"] == "field")
    assert values["delta"] == [0.0, None]
    assert values["omega0"][1] == analysis.fit.errors["omega0"]


@pytest.mark.parametrize("name", ["omega0", "larmor"])
def test_a_free_frequency_that_begins_at_0_is_refused(name: str) -> None:
    """From there no other start is tried, and the fit might stay where it is."""
    with pytest.raises(tw.UsageError, match=rf"'{name}' is free and begins at 0 .*: give its \[\[site\]\]"):
        tdpac.parse_config(f'[[site]]\neta = 0.2\n[fit]\nfree = ["A22", "{name}"]\n')


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
