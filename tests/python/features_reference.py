"""Energy and time of a pulse as their definitions say it, by NumPy alone: slow, with all samples, in floats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def reference(
    samples: npt.NDArray[np.generic],
    dt_ns: float,
    *,
    baseline_ns: float,
    gate_ns: tuple[float, float] = (-5.0, 100.0),
    fraction: float = 0.1,
    smooth_ns: float = 1.0,
    sign: int = 1,
) -> tuple[float, float]:
    """Returns the energy (ADC ns) and the time (ns since the first sample) of the only pulse of a record."""
    levels = sign * samples.astype(np.float64)
    levels -= levels[: round(baseline_ns / dt_ns)].mean()
    box = max(1, round(smooth_ns / dt_ns))
    smooth = np.convolve(levels, np.ones(box) / box, "valid")  # smooth[i] is about samples i to i + box - 1
    top = int(smooth.argmax())
    before = np.flatnonzero(smooth[: top + 1] < fraction * smooth[top])[-1]
    level = fraction * smooth[top]
    place = before + (level - smooth[before]) / (smooth[before + 1] - smooth[before]) + (box - 1) / 2
    begin, end = (round(place + edge / dt_ns) for edge in gate_ns)
    return float(levels[begin:end].sum() * dt_ns), float(place * dt_ns)
