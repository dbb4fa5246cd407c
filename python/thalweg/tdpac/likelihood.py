"""Fits the spectra of all pairs at once, by the likelihood of Poisson counts.

Each pair has a number of true coincidences and a background of its own. Both are eliminated: for given shapes, the best
ones are found for each pair, so that the fit has only the parameters of the field and of the clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.special import xlogy

from thalweg.tdpac.classes import PairClass
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.fitted import Fitted, minimise
from thalweg.tdpac.model import FieldModel
from thalweg.tdpac.ratio import GUARD_NS
from thalweg.tdpac.spectra import Spectra
from thalweg.tdpac.starts import best_fit

Numbers = npt.NDArray[np.float64]

_STEPS = 12
_PRECISION = 1e-10
_FINE_NS = 0.02
_HALF_LIVES_OF_TIME_ZERO = 3.0


@dataclass(frozen=True)
class _Counts:
    """The spectra of all pairs: the random ones before time zero in one bin, and then bins from some time on."""

    pairs: list[tuple[int, int]]
    of_class: npt.NDArray[np.int64]
    edges: Numbers  # of the bins from that time on
    widths: Numbers  # of all bins, in bins
    counts: Numbers  # a row for each pair


def _counts(spectra: Spectra, classes: tuple[PairClass, ...], begin_ns: float, end_ns: float | None) -> _Counts:
    edges = spectra.edges_ns
    pairs = [pair for each in classes for pair in each.pairs]
    of_class = np.repeat(np.arange(len(classes)), [len(each.pairs) for each in classes])
    starts, stops = np.array(pairs).T
    of_pairs = spectra.counts[starts, stops].astype(np.float64)
    before = int(np.searchsorted(edges, -GUARD_NS + 1e-9, "right")) - 1
    first = int(np.searchsorted(edges, begin_ns - 1e-9))
    last = len(edges) - 1 if end_ns is None else int(np.searchsorted(edges, end_ns + 1e-9, "right")) - 1
    counts = np.concatenate([of_pairs[:, :before].sum(axis=1, keepdims=True), of_pairs[:, first:last]], axis=1)
    widths = np.concatenate([[before], np.ones(last - first)]).astype(np.float64)
    seen = counts.sum(axis=1) > 0  # a pair without a count says nothing
    kept = [pair for pair, is_seen in zip(pairs, seen, strict=True) if is_seen]
    return _Counts(kept, of_class[seen], edges[first : last + 1], widths, counts[seen])


def _profile(shapes: Numbers, counts: Numbers, widths: Numbers, background: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the expected counts with the best number and background of each pair, and these backgrounds.

    The best ones leave the sum of a pair as it is, so only the background is searched for, by Newton's steps.
    """
    whole, length, area = counts.sum(axis=1), widths.sum(), shapes.sum(axis=1)
    turn = widths - length / area[:, np.newaxis] * shapes  # how the expected counts change with the background
    most = whole / length
    found = np.clip(background, 1e-9 * most, 0.999 * most)
    for _ in range(_STEPS):
        expected = ((whole - found * length) / area)[:, np.newaxis] * shapes + found[:, np.newaxis] * widths
        share = counts / expected * turn
        step = share.sum(axis=1) / np.maximum((share / expected * turn).sum(axis=1), 1e-300)
        last, found = found, np.clip(found + step, found / 10, (found + 9 * most) / 10)
        found = np.clip(found, 1e-9 * most, 0.999 * most)
        if np.all(np.abs(found - last) <= _PRECISION * most):
            break
    expected = ((whole - found * length) / area)[:, np.newaxis] * shapes + found[:, np.newaxis] * widths
    return expected, found


class _Likelihood:
    def __init__(self, counts: _Counts, model: FieldModel, delays: tuple[str, ...]) -> None:
        self._counts = counts
        self._model = model
        self._delays = delays
        self._background = counts.counts[:, 0] / max(1.0, counts.widths[0])

    def __call__(self, values: Mapping[str, float]) -> float:
        """Returns -2 ln L, without what is the same for all values."""
        expected = self._expected(values)
        if expected is None:
            return float("nan")
        return float(2 * (expected - xlogy(self._counts.counts, expected)).sum())

    def chi2(self, values: Mapping[str, float]) -> float:
        expected = self._expected(values)
        return float("nan") if expected is None else float(((self._counts.counts - expected) ** 2 / expected).sum())

    def _expected(self, values: Mapping[str, float]) -> Numbers | None:
        shapes = np.concatenate([np.zeros((len(self._counts.pairs), 1)), self._shapes(values)], axis=1)
        if not np.all(shapes[:, 1:] > 0):
            return None
        expected, self._background = _profile(shapes, self._counts.counts, self._counts.widths, self._background)
        return expected

    def _shapes(self, values: Mapping[str, float]) -> Numbers:
        edges, classes = self._counts.edges, self._counts.of_class
        zero = values["time_zero"] * 1e-3
        if not self._delays:
            return self._model.shapes(values, edges - zero)[classes]
        late = np.array([values[name] for name in self._delays]) * 1e-3
        starts, stops = np.array(self._counts.pairs).T
        zeros = zero + late[stops] - late[starts]
        reach = float(np.abs(zeros).max())
        fine = np.arange(edges[0] - reach - _FINE_NS, edges[-1] + reach + 2 * _FINE_NS, _FINE_NS)
        sums = np.cumsum(self._model.shapes(values, fine), axis=1)
        spline = CubicSpline(fine[1:], sums, axis=1)
        at = spline((edges[np.newaxis, :] - zeros[:, np.newaxis]).ravel()).reshape(len(sums), len(zeros), len(edges))
        return np.asarray(np.maximum(np.diff(at[classes, np.arange(len(zeros))], axis=1), 1e-15))


def fit_spectra(
    spectra: Spectra,
    classes: tuple[PairClass, ...],
    config: TdpacConfig,
    start: Mapping[str, float] | None = None,
) -> Fitted:
    """Fits the field to the spectra of all pairs, by the likelihood of Poisson counts.

    start: values that differ from the configuration: `time_zero` and `resolution` in ps are best those of
        `fit_time_zero`.
    """
    model = FieldModel(config, classes)
    counts = _counts(spectra, classes, config.fit_begin_ns, config.fit_end_ns)
    likelihood = _Likelihood(counts, model, ())
    begin = {**model.start, "time_zero": 0.0, **(start or {})}
    bins = counts.counts.size - 2 * len(counts.pairs)

    def fit(values: Mapping[str, float]) -> Fitted:
        return minimise(likelihood, "spectra", values, config.free, lambda free: bins - free, likelihood.chi2)

    return best_fit(likelihood, fit, begin)


def fit_time_zero(
    spectra: Spectra, classes: tuple[PairClass, ...], config: TdpacConfig, start: Mapping[str, float] | None = None
) -> Fitted:
    """Fits time zero, the resolution, and how late each detector is compared with the first one, in ps.

    One likelihood over the spectra of all pairs, with the angular correlation in it: a pair alone without it would be
    wrong by some 10 ps. The field is free, too. `start`: values of the field that differ from the configuration.
    """
    model = FieldModel(config, classes)
    end = _HALF_LIVES_OF_TIME_ZERO * config.half_life_ns
    counts = _counts(spectra, classes, -GUARD_NS, min(end, float(spectra.edges_ns[-1])))
    delays = tuple(f"delay_{number}" for number in range(len(spectra.tables)))
    likelihood = _Likelihood(counts, model, delays)
    begin = {**model.start, "time_zero": 0.0, **dict.fromkeys(delays, 0.0), **(start or {})}
    free = ("time_zero", "resolution", *delays[1:], *config.free)
    bins = counts.counts.size - 2 * len(counts.pairs)
    return minimise(likelihood, "time zero", begin, free, lambda count: bins - count, likelihood.chi2)
