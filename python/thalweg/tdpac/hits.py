"""From where the hits of a table come: stored features, features that are made of samples, or stored columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._features.held import begin_column, check_samples, pulses_of, unused_begin
from thalweg._features.settings import FLAGS, FeatureSettings
from thalweg._hits.side_by_side import PICOSECONDS, Hits, picoseconds
from thalweg.tdpac.config import TdpacConfig

_ROWS = 1 << 17
_METADATA = "features"
"""The metadata of a run in which `thalweg record --features` has stored features."""
_DEFAULT_REJECTED = sum(FLAGS[name] for name in FeatureSettings.reject)


@dataclass
class HitColumns:
    """The columns of one table from which its hits come, and what was left out of them."""

    table: str
    times: str
    unit: str
    energy: str
    """Empty: made of the samples."""
    flags: str = ""
    """The column of flags, if they are stored."""
    made: FeatureSettings | None = None
    """How times, flags and, if `energy` is empty, energies are made of samples."""
    rejected_flags: int = 0
    begin: tuple[str, float] | None = None
    """As `begin_column` returns it, if features are made."""
    remark: str = ""
    """What is odd about the columns, in a whole sentence."""
    hits: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def read(self, table: Any, kept: npt.NDArray[np.bool_] | None = None) -> Iterator[Hits]:
        """Yields the hits of a table, without those that have a flag which is rejected.

        kept: which rows count. None: all.
        """
        done = 0
        columns = [each for each in (self.times, self.energy, self.flags) if each]
        if self.made is not None:
            columns += [self.made.waveform, *([self.begin[0]] if self.begin else [])]
        for rows in table.batches(columns, rows=_ROWS):
            yield self.of_rows(rows, None if kept is None else kept[done : done + len(rows)])
            done += len(rows)

    def of_rows(self, rows: Mapping[str, Any], kept: npt.NDArray[np.bool_] | None = None) -> Hits:
        times = picoseconds(rows[self.times], self.unit)
        if self.made is None:
            energies, flags = rows[self.energy], rows[self.flags] if self.flags else None
        else:
            pulses = pulses_of(rows, self.made, self.begin)
            times = times + pulses.since_ps
            if rows[self.times].dtype.kind == "u":  # as those that are stored beside such timestamps
                times = np.maximum(times, 0)
            energies, flags = rows[self.energy] if self.energy else pulses.energies, pulses.flags
        if kept is not None and not kept.all():
            times, energies, flags = times[kept], energies[kept], None if flags is None else flags[kept]
        return self.without_rejected(times, energies, flags)

    def without_rejected(
        self, times: npt.NDArray[np.int64], energies: npt.NDArray[Any], flags: npt.NDArray[Any] | None
    ) -> Hits:
        """Returns the hits without those that have a flag which is rejected, and counts both."""
        self.hits += len(times)
        if flags is None or not self.rejected_flags:
            return times, energies
        rejected = (flags & self.rejected_flags) != 0
        if not rejected.any():
            return times, energies
        for name, bit in FLAGS.items():
            if bit & self.rejected_flags and (count := int(np.count_nonzero(flags[rejected] & bit))):
                self.rejected[name] += count
        self.rejected["all"] += int(np.count_nonzero(rejected))
        return times[~rejected], energies[~rejected]

    def sentences(self) -> list[str]:
        """Returns what was left out or not used, in whole sentences."""
        found = [self.remark] if self.remark else []
        if not self.rejected["all"]:
            return found
        why = ", ".join(f"{name} {count:,}" for name, count in self.rejected.items() if name != "all")
        share = self.rejected["all"] / self.hits
        return [*found, f"{self.rejected['all']:,} pulses of {self.table} ({share:.2g} of all) are left out: {why}."]


def columns_of(
    table: Any, config: TdpacConfig, metadata: Mapping[str, str], made: bool, keeps_stored: bool = False
) -> HitColumns | None:
    """Returns the columns of a table, or None if it has no hits. Raises UsageError if its times have no unit, or it has
    samples of which no features can be made.

    metadata: of the run. made: whether features are made of samples if they are not stored. keeps_stored: whether a
        table with energies is read as it is all the same.
    """
    schema = table.schema
    rejected = config.features.rejected if config.features else _DEFAULT_REJECTED
    time, flags = (_first_of(schema, f"pulse_{name}", name) for name in ("time", "flags"))
    if _METADATA in metadata and time and flags and config.energy in schema and not config.has_timestamp:
        return HitColumns(table.name, time, _unit(table, time), config.energy, flags, None, rejected)
    if config.timestamp not in schema:
        return None
    is_kept = keeps_stored and config.energy in schema
    if made and config.features and config.features.waveform in schema and not is_kept:
        check_samples(table, config.features)
        energy = config.energy if config.energy in schema else ""
        unit = _unit(table, config.timestamp)
        begin, remark = begin_column(table, config.features), unused_begin(table, config.features)
        return HitColumns(table.name, config.timestamp, unit, energy, "", config.features, rejected, begin, remark)
    if config.energy not in schema:
        return None
    return HitColumns(table.name, config.timestamp, _unit(table, config.timestamp), config.energy)


def _first_of(schema: Any, *names: str) -> str:
    return next((name for name in names if name in schema), "")


def _unit(table: Any, column: str) -> str:
    unit = str(table.schema[column].unit)
    if unit not in PICOSECONDS:
        raise UsageError(
            f"table '{table.name}': column '{column}' has the unit '{unit}' (times need one of "
            f"{', '.join(PICOSECONDS)})"
        )
    return unit
