"""Features of pulses whose samples are held: computed in the core, for arrays in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._features.settings import FLAGS, FeatureSettings
from thalweg._hits.side_by_side import PICOSECONDS

_MOST_NS = 1e12
"""A record begins within so much of its timestamp: more is no time of a record."""


@dataclass(frozen=True)
class Pulses:
    """Energy of each pulse in ADC ns, how many ps behind the timestamp it is, and its flags. A record without a pulse
    has no energy (NaN), and the time of its timestamp."""

    energies: npt.NDArray[np.float32]
    since_ps: npt.NDArray[np.int64]
    flags: npt.NDArray[np.uint16]


def check_samples(table: Any, settings: FeatureSettings) -> None:
    """Raises UsageError if a table has no samples that can be used."""
    name, found = settings.waveform, table.schema[settings.waveform]
    members = dict(found.members) if found.name == "struct" else {}
    values = members.get("values") if found.name == "struct" else found
    of_sample = values.element if values is not None and values.element is not None else values
    if of_sample is None or of_sample.name not in ("uint16", "int16"):
        raise _refused(table, name, "has no samples of 16 bits, as an array or a list of integers", "set waveform")
    if "dt" not in members and not settings.sample_period_ns:
        raise _refused(table, name, "has no time dt from sample to sample", "set sample-period, in ns")
    for member in ("t0", "dt"):
        if member in members and members[member].unit not in ("", "ns"):
            raise _refused(
                table, f"{name}/{member}", f"has the unit '{members[member].unit}' and not ns", "set waveform"
            )


def begin_column(table: Any, settings: FeatureSettings) -> tuple[str, float] | None:
    """Returns the column beside the samples that has the time of the first one, from the timestamp on, and how many ns
    its unit has, or None: it is in the samples, or there is none."""
    unit = table.schema["t0"].unit if _is_begin_beside(table, settings) else ""
    return ("t0", PICOSECONDS[unit] * 1e-3) if unit in PICOSECONDS else None


def unused_begin(table: Any, settings: FeatureSettings) -> str:
    """Returns a sentence about a column `t0` that is not used since its unit is not one of a time, or an empty text."""
    if not _is_begin_beside(table, settings) or begin_column(table, settings):
        return ""
    unit = table.schema["t0"].unit
    has = f"the unit '{unit}'" if unit else "no unit"
    return (
        f"The column t0 of {table.name} is not used, because it has {has}: the first sample of a pulse is taken to be "
        "at its timestamp."
    )


def _is_begin_beside(table: Any, settings: FeatureSettings) -> bool:
    found, begin = table.schema[settings.waveform], table.schema.get("t0")
    is_struct_with_begin = found.name == "struct" and "t0" in dict(found.members)
    return begin is not None and not is_struct_with_begin and begin.name in ("float32", "float64")


def _refused(table: Any, column: str, why: str, what: str) -> UsageError:
    return UsageError(
        f"the pulses of table '{table.name}' have no features: column '{column}' {why}: {what} in [features]"
    )


def pulses_of(rows: Any, settings: FeatureSettings, begin: tuple[str, float] | None = None) -> Pulses:
    """Returns the features of rows that have the column of samples. Raises UsageError if a sampling period is not
    known, and DataError if a record begins at no time that can be.

    begin: as `begin_column` returns it. Its column is in the rows then.
    """
    waveform = rows[settings.waveform]
    is_struct = not isinstance(waveform, np.ndarray) and not hasattr(waveform, "offsets")
    values = waveform["values"] if is_struct else waveform
    if isinstance(values, np.ndarray):
        lengths, content = np.full(len(values), values.shape[1], np.uint64), values
    else:
        lengths = np.asarray(values.lengths, np.uint64)
        content = values.content[values.offsets[0] : values.offsets[-1]]
    count = len(lengths)
    members = waveform if is_struct else {}
    periods = np.full(count, settings.sample_period_ns)
    if not settings.sample_period_ns:
        periods = np.ascontiguousarray(waveform["dt"], np.float64)
    energies, times, flags = np.empty(count, np.float32), np.empty(count), np.empty(count, np.uint16)
    extractor = _core.FeatureExtractor(settings.to_core("").pulse, content.dtype == np.int16)
    extractor.extract(np.ascontiguousarray(content), lengths, periods, energies, times, flags)
    begins = members["t0"] if "t0" in members else np.zeros(count) if begin is None else rows[begin[0]]
    since_ns = times + np.asarray(begins, np.float64) * (1.0 if begin is None else begin[1])
    since_ns[(flags & FLAGS["no-pulse"]) != 0] = 0.0
    if not (np.abs(since_ns) < _MOST_NS).all():
        row = int(np.argmin(np.abs(since_ns) < _MOST_NS))
        column, unit = (f"{settings.waveform}/t0", " ns") if begin is None else (begin[0], "")
        raise DataError(
            f"column '{column}' is {begins[row]}{unit} in row {row} of those that were read at once (a time in a "
            "record is needed): set waveform in [features]"
        )
    return Pulses(energies, np.rint(since_ns * 1e3).astype(np.int64), flags)
