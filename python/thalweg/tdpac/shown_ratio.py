"""R(t) as a picture shows it: in bins that have enough counts."""

from __future__ import annotations

from dataclasses import replace

from thalweg.tdpac.analysis import Analysis
from thalweg.tdpac.ratio import Ratio, ratio_of
from thalweg.tdpac.spectra import Spectra

_HALF_LIVES = 2.0
"""So far R(t) is to be seen, if the bins need not be too wide for that."""
_BINS_A_HALF_LIFE = 16


def ratio_to_show(analysis: Analysis) -> Ratio | None:
    """Returns R(t) in the bins of the spectra, or in wider ones if these have too few counts at two half-lives or
    before. None: R(t) cannot be made of these pairs, or no bin has enough counts."""
    if analysis.ratio is None:
        return None
    wanted_ns = _HALF_LIVES * analysis.config.half_life_ns
    widest_ps = analysis.config.half_life_ns * 1e3 / _BINS_A_HALF_LIFE
    found, reached_ns = analysis.ratio, _reach_ns(analysis.ratio)
    spectra = analysis.spectra
    while reached_ns < wanted_ns and 2 * spectra.bin_ps <= widest_ps:
        spectra = in_double_bins(spectra)
        wider = ratio_of(spectra, analysis.classes, analysis.clock["time_zero"] * 1e-3)
        if (wider_ns := _reach_ns(wider)) > reached_ns:
            found, reached_ns = wider, wider_ns
    return found if reached_ns > 0 else None


def in_double_bins(spectra: Spectra) -> Spectra:
    """Returns spectra whose bins have the counts of two. A last bin that has no partner is left out."""
    pairs = spectra.counts.shape[2] // 2
    counts = spectra.counts[:, :, : 2 * pairs].reshape(*spectra.counts.shape[:2], pairs, 2).sum(axis=3)
    return replace(spectra, counts=counts, bin_ps=2 * spectra.bin_ps)


def _reach_ns(ratio: Ratio) -> float:
    """How long R(t) is."""
    bins = ratio.fitted_bins(0.0, None)
    return float(ratio.edges_ns[bins.stop] - ratio.edges_ns[bins.start]) if bins.stop > bins.start else 0.0
