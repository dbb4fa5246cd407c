"""R(t) = 2 (W(180) - W(90)) / (W(180) + 2 W(90)), of geometric means of counts less background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg.tdpac.classes import PairClass, ratio_classes
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.fitted import Fitted, minimise
from thalweg.tdpac.model import FieldModel
from thalweg.tdpac.spectra import Spectra
from thalweg.tdpac.starts import best_fit

Numbers = npt.NDArray[np.float64]

GUARD_NS = 3.0
"""Before time zero by so much there are only random coincidences."""
_FEWEST = 8.0
"""The mean counts of a bin of a pair, below which R(t) ends: its errors are those of a Gauss curve no more."""


@dataclass(frozen=True)
class Ratio:
    """R(t) of each bin, in ns since time zero. Bins without counts above the background are not `usable`."""

    edges_ns: Numbers
    values: Numbers
    errors: Numbers
    usable: npt.NDArray[np.bool_]
    classes: tuple[PairClass, PairClass]
    w180: Numbers
    w90: Numbers

    @property
    def times_ns(self) -> Numbers:
        return np.asarray((self.edges_ns[1:] + self.edges_ns[:-1]) / 2)

    @property
    def bin_ns(self) -> float:
        return float(self.edges_ns[1] - self.edges_ns[0])

    def fitted_bins(self, begin_ns: float, end_ns: float | None) -> slice:
        """Returns the bins from `begin_ns` on to the first one that is not usable, or to `end_ns`."""
        first = int(np.searchsorted(self.edges_ns, begin_ns - 1e-9))
        unusable = np.flatnonzero(~self.usable[first:])
        last = first + int(unusable[0]) if len(unusable) else len(self.usable)
        if end_ns is not None:
            last = min(last, int(np.searchsorted(self.edges_ns, end_ns + 1e-9, "right")) - 1)
        return slice(first, max(first, last))


def backgrounds(spectra: Spectra) -> Numbers:
    """Returns the mean counts of a bin before time zero, of each pair."""
    before = spectra.edges_ns[1:] <= -GUARD_NS
    if not before.any():
        raise UsageError(
            f"the spectra begin at {spectra.edges_ns[0]:g} ns (the background needs bins before {-GUARD_NS:g} ns): set "
            "the range"
        )
    return np.asarray(spectra.counts[:, :, before].mean(axis=2))


def ratio_of(spectra: Spectra, classes: tuple[PairClass, ...], time_zero_ns: float = 0.0) -> Ratio:
    """Returns R(t) with its errors. Raises UsageError if there is not one class of 180 degrees and one of 90."""
    chosen = ratio_classes(classes)
    if chosen is None:
        raise UsageError(
            "R(t) cannot be made (it needs one class of pairs at 180 degrees and one at 90): fit the spectra, "
            'method = "spectra"'
        )
    background = backgrounds(spectra)
    means, variances, usable = [], [], np.ones(spectra.counts.shape[2], np.bool_)
    for each in chosen:
        counts = spectra.counts[each.indices].astype(np.float64)
        net = counts - background[each.indices][:, np.newaxis]
        usable &= (net > 0).all(axis=0) & (counts.mean(axis=0) >= _FEWEST)
        safe = np.where(net > 0, net, 1.0)
        # The counts that are expected of each pair, from all of its class: those of one bin alone would give bins that
        # are low by chance a wrong error.
        area = np.where(usable, net, 0.0).sum(axis=1)
        share = area / np.exp(np.log(np.maximum(area, 1.0)).mean())
        expected = np.maximum(np.outer(share, np.exp(np.log(safe).mean(axis=0))), 1e-9)
        spread = (expected + background[each.indices][:, np.newaxis]) / expected**2
        # The mean of a logarithm is less than the logarithm of the mean, by half the relative variance.
        means.append(np.exp((np.log(safe) + np.minimum(spread, 1.0) / 2).mean(axis=0)))
        variances.append(spread.sum(axis=0) / len(counts) ** 2)
    w180, w90 = (np.where(usable, each, 1.0) for each in means)
    total = w180 + 2 * w90
    errors = 6 * w180 * w90 / total**2 * np.sqrt(variances[0] + variances[1])
    return Ratio(spectra.edges_ns - time_zero_ns, 2 * (w180 - w90) / total, errors, usable, chosen, w180, w90)


def ratio_model(model: FieldModel, values: Mapping[str, float], edges: Numbers) -> Numbers:
    """Returns R(t) as the field says it. The model has the two classes of R(t) only."""
    w180, w90 = model.shapes(values, edges)
    return np.asarray(2 * (w180 - w90) / (w180 + 2 * w90))


def fit_ratio(ratio: Ratio, config: TdpacConfig, start: Mapping[str, float] | None = None) -> Fitted:
    """Fits the field to R(t) by least squares. `start`: values that differ from the configuration."""
    model = FieldModel(config, ratio.classes)
    bins = ratio.fitted_bins(config.fit_begin_ns, config.fit_end_ns)
    edges = ratio.edges_ns[bins.start : bins.stop + 1]
    values, errors = ratio.values[bins], ratio.errors[bins]
    if len(values) <= len(config.free):
        raise UsageError(
            f"R(t) has {len(values)} bins with enough counts, and {len(config.free)} parameters are free: count more, "
            'or use method = "spectra"'
        )

    def chi2(given: Mapping[str, float]) -> float:
        return float((((values - ratio_model(model, given, edges)) / errors) ** 2).sum())

    begin = {**model.start, **(start or {})}

    def fit(given: Mapping[str, float]) -> Fitted:
        return minimise(chi2, "R(t)", given, config.free, lambda free: len(values) - free)

    return best_fit(chi2, fit, begin)
