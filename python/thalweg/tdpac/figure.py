"""Draws an analysis: R(t) with its fit and residuals, its frequencies, and the spectra of the classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg.tdpac.analysis import Analysis
from thalweg.tdpac.classes import ratio_classes
from thalweg.tdpac.fitted import Fitted
from thalweg.tdpac.ratio import Ratio
from thalweg.tdpac.results import fitted_ratio
from thalweg.tdpac.shown_ratio import ratio_to_show
from thalweg.tdpac.spectrum import frequency_spectrum

_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#767676"
_SHADES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_MOST_CLASSES = 6
FORMATS = (".png", ".pdf")


def draw(analysis: Analysis, path: str | Path) -> None:
    """Draws a picture. Raises UsageError if its name ends in neither .png nor .pdf, SystemError if it cannot be
    written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise UsageError(f"cannot draw {path} (pictures are PNG or PDF files): give a name that ends in .png or .pdf")
    figure = Figure(figsize=(10, 9), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 2, height_ratios=(3, 1, 2.4))
    ratio = ratio_to_show(analysis)
    _draw_ratio(analysis, ratio, figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1, :]))
    _draw_frequencies(analysis, ratio, figure.add_subplot(grid[2, 0]))
    _draw_spectra(analysis, figure.add_subplot(grid[2, 1]))
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise SystemError(error.errno or 0, f"cannot write {path} ({error.strerror})") from None


def _draw_ratio(analysis: Analysis, ratio: Ratio | None, axes: Any, below: Any) -> None:
    axes.set_ylabel("R(t)")
    below.set_xlabel("time since the start (ns)")
    below.set_ylabel("residuals / error")
    if ratio is None:
        has_pairs = ratio_classes(analysis.classes) is not None
        needs = "more coincidences" if has_pairs else "pairs of detectors at 180 and at 90 degrees"
        axes.set_title(f"R(t) needs {needs}")
        return
    axes.set_ylabel(f"R(t), in bins of {ratio.bin_ns:.3g} ns")
    shown = ratio.fitted_bins(0.0, None)
    times, step = ratio.times_ns[shown], max(1, (shown.stop - shown.start) // 400)
    values, errors, at = merged(ratio.values[shown], ratio.errors[shown], times, step)
    axes.errorbar(at, values, errors, fmt=".", markersize=3, linewidth=0.7, color=_BLUE, label="R(t)")
    fit = analysis.fit
    model = fitted_ratio(analysis, ratio)
    if fit is not None and not fit.is_valid:
        axes.set_title("The fit has not converged, and is not drawn.")
    if fit is not None and model is not None:
        bins, expected = model
        axes.plot(ratio.times_ns[bins], expected, color=_ORANGE, linewidth=1.4, label="fit")
        found = (f"{name} = {fit.values[name]:.4g} {_error(fit, name)}" for name in fit.free)
        axes.set_title(f"{', '.join(found)}; χ²/n = {fit.reduced:.2f} ({fit.method})", fontsize=9)
        pulls, _, at = merged(
            (ratio.values[bins] - expected) / ratio.errors[bins], np.ones(len(expected)), ratio.times_ns[bins], step
        )
        below.plot(at, pulls * np.sqrt(step), ".", markersize=3, color=_BLUE)
    axes.axhline(0, color=_GREY, linewidth=0.6)
    below.axhline(0, color=_ORANGE, linewidth=1)
    axes.legend(frameon=False, loc="lower right")
    axes.sharex(below)


def _error(fit: Fitted, name: str) -> str:
    return "(its limit)" if name in fit.at_limit else f"± {fit.errors[name]:.1g}"


def merged(values: Any, errors: Any, times: Any, step: int) -> tuple[Any, Any, Any]:
    """Returns weighted means of `step` bins each, so that a picture has a few hundred points."""
    whole = len(values) // step * step
    if whole == 0:
        return values, errors, times
    weights = (1 / errors[:whole] ** 2).reshape(-1, step)
    means = (values[:whole].reshape(-1, step) * weights).sum(axis=1) / weights.sum(axis=1)
    return means, 1 / np.sqrt(weights.sum(axis=1)), times[:whole].reshape(-1, step).mean(axis=1)


def _draw_frequencies(analysis: Analysis, ratio: Ratio | None, axes: Any) -> None:
    axes.set_xlabel("ω (rad/ns)")
    axes.set_ylabel("cosine transform of R(t)")
    if ratio is None:
        return
    omegas, amplitudes = frequency_spectrum(ratio, analysis.config.fit_begin_ns, analysis.config.fit_end_ns)
    if len(omegas) == 0:
        return
    axes.plot(omegas, amplitudes, color=_BLUE, linewidth=1)
    axes.set_xlim(0, min(float(omegas[-1]), 2 * float(omegas[amplitudes > 0.25 * amplitudes.max()][-1])))
    axes.set_ylim(bottom=0)


def _draw_spectra(analysis: Analysis, axes: Any) -> None:
    spectra = analysis.spectra
    axes.set_xlabel("stop - start (ns)")
    axes.set_ylabel(f"counts of a pair / {spectra.bin_ps} ps")
    for each, shade in zip(analysis.classes[:_MOST_CLASSES], _SHADES, strict=False):
        counts = spectra.counts[each.indices].mean(axis=0)
        axes.stairs(counts, spectra.edges_ns, color=shade, linewidth=0.8, label=str(each))
    if spectra.counts.any():
        axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=8)
