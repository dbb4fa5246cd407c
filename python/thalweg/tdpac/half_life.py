"""The half-life of the state between the gammas, from a sum of all spectra in which A22 cancels, whatever the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from thalweg.tdpac.classes import PairClass
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.fitted import Fitted, minimise
from thalweg.tdpac.model import FieldModel
from thalweg.tdpac.ratio import GUARD_NS, backgrounds
from thalweg.tdpac.spectra import Spectra

Numbers = npt.NDArray[np.float64]

_ALONE_FROM = 10
"""Spectra that are longer than so many half-lives show the background behind the decay."""


@dataclass(frozen=True)
class HalfLife:
    fitted: Fitted
    weights: dict[str, float]
    """By which the spectra of pairs are multiplied, by the angle of the class."""
    cancels: bool
    """Whether the places are such that A22 cancels in this sum."""


def weight_of(angle_deg: float, detectors: int, classes: tuple[PairClass, ...]) -> float:
    """Returns 2 for pairs of 180 degrees of six detectors on three axes, and otherwise 1.

    With 2, each start sees the sum of P_2 over both ends of three axes, which is 0 wherever the pattern has turned. For
    four detectors in a plane the plain sum does not change with the field."""
    on_axes = detectors == 6 and all(_is_on_axes(each) for each in classes)
    return 2.0 if on_axes and abs(angle_deg - 180) < 1e-3 else 1.0


def _is_on_axes(each: PairClass) -> bool:
    return min(abs(each.angle_deg - angle) for angle in (90, 180)) < 1e-3


def isotropic_sum(spectra: Spectra, classes: tuple[PairClass, ...]) -> tuple[Numbers, Numbers]:
    """Returns the weighted sum of all spectra, and its variances. Each pair is first divided by its efficiency: by its
    area, compared with the geometric mean of its class."""
    net = spectra.counts - backgrounds(spectra)[:, :, np.newaxis]
    areas = np.maximum(net[:, :, spectra.edges_ns[:-1] >= 0].sum(axis=2), 1.0)
    total = np.zeros(spectra.counts.shape[2])
    variance = np.zeros_like(total)
    for each in classes:
        mean = math.exp(float(np.log(areas[each.indices]).mean()))
        weight = weight_of(each.angle_deg, len(spectra.tables), classes)
        for start, stop in each.pairs:
            factor = weight * mean / float(areas[start, stop])
            total += factor * spectra.counts[start, stop]
            variance += factor**2 * spectra.counts[start, stop]
    return total, variance


def fit_half_life(
    spectra: Spectra, classes: tuple[PairClass, ...], config: TdpacConfig, start: Mapping[str, float] | None = None
) -> HalfLife:
    """Fits an exponential decay that is folded with the resolution, and a background.

    A22 cancels in the sum, and A44 leaves a trace, which is in the model.

    start: values that differ from the configuration: those of the field that is fitted, `time_zero` and `resolution` in
        ps.
    """
    model = FieldModel(config, classes)
    known = {**model.start, "time_zero": 0.0, **(start or {})}
    in_sum = [weight_of(each.angle_deg, len(spectra.tables), classes) * len(each.pairs) for each in classes]
    in_sum = [each / sum(in_sum) for each in in_sum]
    total, variance = isotropic_sum(spectra, classes)
    edges = spectra.edges_ns - known["time_zero"] * 1e-3
    before, after = edges[1:] <= -GUARD_NS, edges[:-1] >= config.fit_begin_ns
    # A detector that is dead after a hit misses some random coincidences, and not as many before time zero as after it.
    is_long = edges[-1] > _ALONE_FROM * config.half_life_ns
    used = after if is_long else before | after
    # A weighted sum of Poisson numbers is taken for a scaled one, with the same mean and variance. Classes have other
    # shares in random coincidences than in true ones.
    scale = np.ones(len(total))
    for part in (before, after):
        scale[part] = total[part].sum() / max(1.0, float(variance[part].sum()))
    scale = scale[used]
    seen = total[used] * scale
    background = max(1e-3, float(total[before].mean()))

    def expected(values: Mapping[str, float]) -> Numbers:
        shape = in_sum @ model.shapes({**known, "half_life": values["half_life"]}, edges)[:, used]
        return np.asarray(scale * (math.exp(values["log_area"]) * shape + abs(values["background"])) + 1e-12)

    def deviance(values: Mapping[str, float]) -> float:
        counts = expected(values)
        return float(2 * (counts - seen + xlogy(seen, seen / counts)).sum())

    def chi2(values: Mapping[str, float]) -> float:
        counts = expected(values)
        return float(((counts - seen) ** 2 / counts).sum())

    area = max(1.0, float((total - background)[after].sum()))
    begin = {"half_life": config.half_life_ns, "log_area": math.log(area), "background": background}
    fitted = minimise(deviance, "half-life", begin, tuple(begin), lambda free: int(used.sum()) - free, chi2)
    weights = {f"{each.angle_deg:.4g}": weight_of(each.angle_deg, len(spectra.tables), classes) for each in classes}
    cancels = len(spectra.tables) in (4, 6) and all(_is_on_axes(each) for each in classes)
    return HalfLife(fitted, weights, cancels)
