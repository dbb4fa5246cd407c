"""R(t) in pictures and on the page: in bins that have enough counts."""

import numpy as np
import pytest
from tdpac_toys import HAFNIUM, toy

from thalweg import tdpac
from thalweg.tdpac.ratio import ratio_of
from thalweg.tdpac.shown_ratio import in_double_bins, ratio_to_show


@pytest.mark.parametrize(("coincidences", "bins_merged"), [(1e5, 2), (1e7, 1)])
def test_bins_are_as_wide_as_the_counts_need(coincidences: float, bins_merged: int) -> None:
    config = HAFNIUM[0]
    spectra = toy(config, coincidences, seed=3)
    shown = ratio_to_show(tdpac.analyse_spectra(spectra, config))
    assert shown is not None
    assert shown.bin_ns == pytest.approx(bins_merged * spectra.bin_ps * 1e-3)
    bins = shown.fitted_bins(0.0, None)
    assert shown.edges_ns[bins.stop] >= 2 * config.half_life_ns
    merged = spectra.counts.reshape(6, 6, -1, bins_merged).sum(axis=3)
    again = ratio_of(
        tdpac.Spectra(spectra.tables, spectra.begin_ps, bins_merged * spectra.bin_ps, merged, spectra.delays_ps),
        tdpac.pair_classes(config.directions(6), config.sites),
    )
    np.testing.assert_allclose(shown.values[bins], again.values[bins])


def test_double_bins_have_the_counts_of_two() -> None:
    counts = np.arange(2 * 2 * 5).reshape(2, 2, 5)
    found = in_double_bins(tdpac.Spectra(("a", "b"), -100, 50, counts, (0.0, 0.0)))
    assert (found.begin_ps, found.bin_ps) == (-100, 100)
    assert found.counts.tolist() == [[[1, 5], [11, 15]], [[21, 25], [31, 35]]]


def test_too_few_counts_give_no_picture_of_it() -> None:
    assert ratio_to_show(tdpac.analyse_spectra(toy(HAFNIUM[0], 1000, seed=3), HAFNIUM[0])) is None
