"""A whole analysis: count, time zero, R(t), fits, half-life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from thalweg._base.errors import UsageError
from thalweg.tdpac.classes import PairClass, pair_classes, ratio_classes
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.counting import count
from thalweg.tdpac.fitted import Fitted, unit_of
from thalweg.tdpac.half_life import HalfLife, fit_half_life
from thalweg.tdpac.likelihood import fit_spectra, fit_time_zero
from thalweg.tdpac.ratio import Ratio, backgrounds, fit_ratio, ratio_of
from thalweg.tdpac.spectra import Spectra
from thalweg.tdpac.starts import differ

RATIO_FROM = 1_000_000
"""From so many true coincidences on, R(t) is as good as the spectra themselves, and quicker."""
_FOR_DELAYS = 1_000_000
_FEWEST = 5_000
"""With fewer true coincidences no clock is fitted."""
_CHANCE = 1e-4
"""How often spectra without a field let one frequency explain so much. Some hundred frequencies are tried, so that it
happens more often for any of them."""


@dataclass
class Analysis:
    config: TdpacConfig
    spectra: Spectra
    classes: tuple[PairClass, ...]
    true_coincidences: float
    time_zero: Fitted | None = None
    ratio: Ratio | None = None
    fit: Fitted | None = None
    half_life: HalfLife | None = None
    notes: list[str] = field(default_factory=list)
    """What could not be done, in whole sentences."""

    @property
    def clock(self) -> dict[str, float]:
        """Time zero and resolution, in ps, as far as they are known."""
        fitted = self.time_zero.values if self.time_zero and self.time_zero.is_valid else {}
        resolution = self.config.resolution_ps or 300.0
        return {
            "time_zero": fitted.get("time_zero", 0.0),
            "resolution": self.config.resolution_ps or fitted.get("resolution", resolution),
        }

    def sentences(self) -> list[str]:
        facts = self.spectra.facts
        hits = ", ".join(f"{facts.get(name, 0):,} {name}" for name in ("hits", "starts", "stops"))
        true = max(0.0, self.true_coincidences)
        found: list[str] = [
            f"{hits}, {self.spectra.between_detectors:,} coincidences, {true:,.0f} of them true.",
            f"Classes of pairs: {', '.join(map(str, self.classes))}.",
        ]
        for fitted in (self.time_zero, self.half_life.fitted if self.half_life else None):
            found += fitted.sentences() if fitted else []
        if self.fit is not None and self.fit.is_valid:
            found += [f"The field, from {each}" for each in self.fit.sentences()]
        elif self.fit is not None and self._has_field:  # without one, `problems` says what to do
            found += self.fit.sentences()
        if late := facts.get("late", 0):
            found.append(f"{late:,} hits came so late that some of their partners had left the memory: set kept-hits.")
        return found + self.notes

    def as_json(self) -> dict[str, Any]:
        fits = {"time_zero": self.time_zero, "fit": self.fit, "half_life": self.half_life and self.half_life.fitted}
        return {
            "detectors": list(self.spectra.tables),
            "counts": self.spectra.facts,
            "true_coincidences": self.true_coincidences,
            "delays_ps": list(self.spectra.delays_ps),
            "classes": [{"angle": each.angle_deg, "pairs": [*map(list, each.pairs)]} for each in self.classes],
            **{name: fitted and _as_json(fitted) for name, fitted in fits.items()},
            "units": {name: unit for each in self._fits for name in each.free if (unit := unit_of(name))},
            "notes": self.notes,
            "problems": self.problems,
        }

    @property
    def problems(self) -> list[str]:
        """What was asked for and could not be done although the spectra are there, in whole sentences."""
        facts = self.spectra.facts
        missing = [name for name in ("starts", "stops") if not facts.get(name, 0)]
        if facts.get("hits", 0) and missing and not self.spectra.uncalibrated:
            none = " and no ".join(missing)
            there = f"there are {facts['hits']:,} hits and no {none} (no energy is in a window)"
            return [f"{there}: give [calibration], or correct scale, start and stop"]
        found = []
        if not self.spectra.have_peaks and not self.spectra.uncalibrated:
            kinds = f"start {_window_text(self.config.start)} and stop {_window_text(self.config.stop)}"
            found.append(
                f"no window of any detector has a peak ({kinds}): is the isotope right? Otherwise give [calibration], "
                "or correct scale, start and stop"
            )
        if tables := self.spectra.uncalibrated:
            found.append(
                f"the energies of {', '.join(tables)} are not calibrated (the peaks are not found in them): correct "
                "[calibration.peaks], or set scale to about the keV of one unit"
            )
        if tables := self.spectra.apart:
            found.append(
                f"the hits of {', '.join(tables)} have no coincidences (they have no time in common with those of the "
                "other detectors): let all clocks begin at once, or leave these tables out"
            )
        found += filter(None, [self._no_field()])
        if not self.converged and not self._has_field:
            found.append(
                "a fit has not converged, and the configuration has no [[site]] with a field, so none is fitted: add "
                "one if there is a field"
            )
        return found

    @property
    def _has_field(self) -> bool:
        return any(site.omega0 > 0 or site.larmor > 0 for site in self.config.sites)

    def _no_field(self) -> str:
        """Says if the fit of a field is hardly better than one without an anisotropy."""
        if self.fit is None or not self.fit.is_valid or not self._has_field:
            return ""
        by_chance = float(chdtri(len(self.fit.free), _CHANCE))
        if not self.fit.by_field < by_chance:
            return ""
        return (
            f"no anisotropy is seen (with the fitted field the cost is less by {self.fit.by_field:.1f}, and by chance "
            f"it may be less by {by_chance:.0f}), so the values of the field mean nothing: count more coincidences, or "
            "correct windows and angles"
        )

    @property
    def converged(self) -> bool:
        """Whether all fits that were made have converged."""
        return all(each.is_valid for each in self._fits)

    @property
    def _fits(self) -> list[Fitted]:
        fits = (self.time_zero, self.fit, self.half_life.fitted if self.half_life else None)
        return [each for each in fits if each is not None]


def _window_text(window: tuple[float, float]) -> str:
    return f"{window[0]:.4g} to {window[1]:.4g}"


def _as_json(fitted: Fitted) -> dict[str, Any]:
    return {
        "method": fitted.method,
        "converged": fitted.is_valid,
        "values": fitted.values,
        "errors": {name: fitted.errors[name] for name in fitted.free},
        "at_limit": list(fitted.at_limit),
        "chi2": fitted.chi2,
        "ndf": fitted.ndf,
    }


def analyse(path: str, config: TdpacConfig, made: bool = False) -> Analysis:
    """Counts the coincidences of a run and fits them. Delays that are not given are fitted to a first part of the run,
    and subtracted from the times before all of it is counted.

    made: whether energies, times and flags are made of samples where they are not stored.

    Raises UsageError if the configuration does not fit the run.
    """
    delays = config.delays_ps
    if delays is None:
        first = count(path, config, None, _FOR_DELAYS, made)
        delays = _delays_of(first, config)
    spectra = count(path, config, delays, made=made)
    return analyse_spectra(spectra, config)


def _delays_of(spectra: Spectra, config: TdpacConfig) -> tuple[float, ...] | None:
    classes = pair_classes(config.directions(len(spectra.tables)), config.sites)
    if true_coincidences(spectra) < _FEWEST:
        return None
    fitted = fit_time_zero(spectra, classes, config)
    if not fitted.is_valid:
        return None
    return tuple(float(round(fitted.values[f"delay_{each}"])) for each in range(len(spectra.tables)))


def true_coincidences(spectra: Spectra) -> float:
    net: npt.NDArray[np.float64] = spectra.counts - backgrounds(spectra)[:, :, np.newaxis]
    of_pairs = net[:, :, spectra.edges_ns[:-1] >= -1].sum(axis=2)
    return float(of_pairs.sum() - np.trace(of_pairs))


def analyse_spectra(spectra: Spectra, config: TdpacConfig) -> Analysis:
    """Fits spectra that are counted: the clocks, R(t) or the spectra themselves, and the half-life."""
    classes = pair_classes(config.directions(len(spectra.tables)), config.sites)
    analysis = Analysis(config, spectra, classes, true_coincidences(spectra), notes=list(spectra.remarks))
    if analysis.true_coincidences < _FEWEST:
        analysis.notes.append(f"There are fewer than {_FEWEST:,} true coincidences: nothing is fitted.")
        return analysis
    analysis.time_zero = fit_time_zero(spectra, classes, config)
    clock = analysis.clock
    if ratio_classes(classes):
        analysis.ratio = ratio_of(spectra, classes, clock["time_zero"] * 1e-3)
    _fit(analysis, clock)
    if (best := analysis.fit) is not None and best.is_valid and differ(best, analysis.time_zero):
        again = fit_time_zero(spectra, classes, config, {name: best.values[name] for name in best.free})
        if again.is_valid and (not analysis.time_zero.is_valid or again.cost <= analysis.time_zero.cost):
            analysis.time_zero = again
            _fit(analysis, analysis.clock)
    clock = analysis.clock
    field = analysis.fit.values if analysis.fit is not None and analysis.fit.is_valid else {}
    own = {name: value for name, value in field.items() if name != "half_life"}
    analysis.half_life = fit_half_life(spectra, classes, config, {**own, **clock})
    if not analysis.half_life.cancels:
        analysis.notes.append("The half-life is of the plain sum of all spectra: the field stays in it.")
    return analysis


def _fit(analysis: Analysis, clock: Mapping[str, float]) -> None:
    config = analysis.config
    method = config.method
    if method == "auto":
        method = "ratio" if analysis.ratio and analysis.true_coincidences >= RATIO_FROM else "spectra"
    if method == "ratio":
        if analysis.ratio is None:
            raise UsageError('R(t) cannot be fitted (there are no pairs of 180 and 90 degrees): set method = "spectra"')
        analysis.fit = fit_ratio(analysis.ratio, config, {"resolution": clock["resolution"]})
    else:
        analysis.fit = fit_spectra(analysis.spectra, analysis.classes, config, clock)
