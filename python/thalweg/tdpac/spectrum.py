"""The frequencies in R(t), by a cosine transform."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.tdpac.ratio import Ratio

Numbers = npt.NDArray[np.float64]

_PADDING = 8
_KAISER = 4.0


def frequency_spectrum(ratio: Ratio, begin_ns: float, end_ns: float | None = None) -> tuple[Numbers, Numbers]:
    """Returns frequencies in rad/ns and amplitudes. Noisy bins count less: a window falls off to the end."""
    bins = ratio.fitted_bins(begin_ns, end_ns)
    values, times = ratio.values[bins], ratio.times_ns[bins]
    if len(values) < 2:
        return np.zeros(0), np.zeros(0)
    window = np.kaiser(2 * len(values), _KAISER)[len(values) :]
    length = 1 << int(np.ceil(np.log2(_PADDING * len(values))))
    step = float(times[1] - times[0])
    omegas = 2 * np.pi * np.fft.rfftfreq(length, step)
    weights = window / window.sum()
    transformed = np.fft.rfft((values - (values * weights).sum()) * weights, length)
    # The first bin does not begin at time zero.
    return np.asarray(omegas), np.abs((transformed * np.exp(-1j * omegas * times[0])).real) * 2
