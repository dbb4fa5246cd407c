"""Takes the energies of a table, stored ones if there are any and pulse integrals otherwise, and bins them."""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from thalweg._base.quantities import counted
from thalweg.cli._pulses import Array
from thalweg.cli._signals import Signals

_MOST_BINS = 400
_NARROW = 0.1  # width relative to the energy below which an axis from 0 would show a peak as a line


class Energy(StrEnum):
    stored = "stored"
    integral = "integral"


@dataclass
class Spectrum:
    table: str
    source: str  # "column energy", or "integral of waveform/values"
    quantity: str
    unit: str
    values: Array
    missing: int  # rows whose energy is no number
    is_whole: bool  # the values are integers


def spectrum_of(signals: Signals, wanted: Energy | None, rows: int) -> Spectrum | None:
    """Returns the spectrum of a table, or None if the table has no such energies."""
    stored = signals.stored_energies(rows) if wanted != Energy.integral else np.array([])
    if stored.size:
        source, quantity = f"column {signals.energy}", f"{signals.energy}, as stored"
        return _spectrum(signals, source, quantity, signals.energy_unit, stored, is_whole=signals.energy_is_whole)
    if wanted == Energy.stored or not signals.waveform:
        return None
    source, quantity = f"integral of {signals.waveform}", "pulse integral above the baseline"
    unit = f"{signals.sample_unit} · samples" if signals.sample_unit else "samples"
    return _spectrum(signals, source, quantity, unit, signals.integrals(rows), is_whole=False)


def _spectrum(signals: Signals, source: str, quantity: str, unit: str, energies: Array, *, is_whole: bool) -> Spectrum:
    values = energies[np.isfinite(energies)]
    return Spectrum(signals.name, source, quantity, unit, values, len(energies) - len(values), is_whole)


def left_out_of(spectra: list[Spectrum], edges: Array, names: dict[str, str]) -> list[str]:
    """Returns a sentence about the rows that spectra with these edges do not show; none if they show all."""
    said = []
    for each in spectra:
        outside = int(np.count_nonzero((each.values < edges[0]) | (each.values > edges[-1])))
        rows = len(each.values) + each.missing
        why = [f"{each.missing:,} without a value"] * bool(each.missing) + [f"{outside:,} outside"] * bool(outside)
        if why:
            said.append(f"{names[each.table]}: {' and '.join(why)}, of {counted(rows, 'row')}")
    return [f"Not in the spectra: {'; '.join(said)}."] if said else []


def edges_of(spectra: list[Spectrum]) -> Array:
    """Returns common bin edges for several spectra.

    The bins are as narrow as the spectrum with the narrowest bins needs; their width is 1, 2 or 5 times a power of
    ten. If all values are integers, each bin holds whole integers.
    """
    low = min(float(np.quantile(each.values, 0.001)) for each in spectra)
    high = max(float(np.quantile(each.values, 0.999)) for each in spectra)
    margin = 0.05 * (high - low) or 0.01 * abs(high) or 1.0
    begins_at_0 = low >= 0 and high - low > _NARROW * high
    low, high = 0.0 if begins_at_0 else low - margin, high + margin
    width = max(min(_width_of(each.values, high - low) for each in spectra), (high - low) / _MOST_BINS)
    power = 10 ** math.floor(math.log10(width))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= 0.9 * width)
    if all(each.is_whole for each in spectra):
        width = max(1.0, width)
        low = math.floor(low / width) * width - 0.5
    else:
        low = math.floor(low / width) * width
    return np.asarray(low + width * np.arange(math.ceil((high - low) / width) + 1), np.float64)


def _width_of(values: Array, whole: float) -> float:
    """Returns the bin width: the smaller one of the Freedman-Diaconis rule (one peak) and the square-root rule."""
    lower, upper = np.quantile(values, [0.25, 0.75])
    one_peak = float(2 * (upper - lower) / len(values) ** (1 / 3))
    several = whole / (2 * math.sqrt(len(values)))
    return min(one_peak or several, several)
