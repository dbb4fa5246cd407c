"""Counts the coincidences of a run: reads the hits of all detectors side by side, and pairs them in the core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import thalweg
from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._hits.side_by_side import PICOSECONDS, Hits, picoseconds, side_by_side
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.remarks import DetectorRemarks, remarks_of
from thalweg.tdpac.spectra import Spectra

_ROWS = 1 << 17


class SpectraCounter:
    """Counts hits that are added in any order: each pair once, as long as the earlier of its hits is in memory."""

    def __init__(
        self, config: TdpacConfig, tables: tuple[str, ...], delays_ps: tuple[float, ...] | None = None
    ) -> None:
        self._config = config
        self._tables = tables
        self._delays = tuple(delays_ps or (0.0,) * len(tables))
        if len(self._delays) != len(tables):
            raise UsageError(f"there are {len(self._delays)} delays and {len(tables)} detectors: give one for each")
        if config.scale and len(config.scale) != len(tables):
            raise UsageError(f"there are {len(config.scale)} scales and {len(tables)} detectors: give one for each")
        options = _core.CoincidenceOptions()
        options.detectors = len(tables)
        options.begin_ps = round(config.range_ns[0] * 1000)
        options.bin_ps = config.bin_ps
        options.bins = -int(-(config.range_ns[1] - config.range_ns[0]) * 1000 // config.bin_ps)
        options.kept_hits = config.kept_hits
        self._options = options
        self._core = _core.Coincidences(options)
        self._windows = [_as_windows(config.windows_of(number)) for number in range(len(tables))]

    @property
    def tables(self) -> tuple[str, ...]:
        return self._tables

    @property
    def coincidences(self) -> int:
        return self._core.counts.coincidences

    @property
    def late(self) -> int:
        """Hits that came when some of their partners had left the memory."""
        return self._core.counts.late

    def add(self, detector: int, times_ps: npt.NDArray[np.uint64], energies: npt.NDArray[Any]) -> None:
        """Adds hits of a detector. They count after the next `pair`."""
        times = np.ascontiguousarray(times_ps, np.uint64)
        of_hits = np.ascontiguousarray(energies, np.float32)
        self._core.add(detector, self._windows[detector], times, of_hits, round(self._delays[detector]))

    def pair(self) -> int:
        """Counts what was added, and returns all coincidences so far."""
        self._core.pair()
        return self._core.counts.coincidences

    def spectra(self) -> Spectra:
        detectors = self._options.detectors
        counts = np.empty((detectors, detectors, self._options.bins), np.uint64)
        self._core.copy_histogram(counts)
        return Spectra(
            self._tables,
            self._options.begin_ps,
            self._options.bin_ps,
            counts.astype(np.int64),
            self._delays,
            self._core.counts.as_json(),
        )


def _as_windows(given: dict[str, tuple[float, float]]) -> _core.EnergyWindows:
    windows = _core.EnergyWindows()
    windows.start_begin, windows.start_end = given["start"]
    windows.stop_begin, windows.stop_end = given["stop"]
    return windows


def count(
    path: str, config: TdpacConfig, delays_ps: tuple[float, ...] | None = None, most: int | None = None
) -> Spectra:
    """Counts all coincidences of a run, in all its files, or about `most`. An open run is counted as far as it goes.

    Raises UsageError if a table or column of the configuration is not there.
    """
    counter: SpectraCounter | None = None
    remarks: list[DetectorRemarks] = []
    for run in _files(path):
        tables = tables_of(run, config)
        if counter is None:
            counter = SpectraCounter(config, tables, delays_ps)
            remarks = [DetectorRemarks(name, config.windows_of(number)) for number, name in enumerate(tables)]
        hits = {number: _hits(run[name], config) for number, name in enumerate(tables)}
        for round_ in side_by_side(hits):
            for detector, got in round_:
                counter.add(detector, *got)
                remarks[detector].note(got)
            if counter.pair() >= (most or 1 << 62):
                return counter.spectra()
    assert counter is not None
    return replace(counter.spectra(), remarks=remarks_of(remarks))


def _files(path: str) -> Iterator[thalweg.Run]:
    """Yields the run of a path and those in which it goes on."""
    next_path: str | None = path
    while next_path:
        with thalweg.open(next_path) as run:
            yield run
            name = run.metadata.get("next_file", "")
        next_path = os.path.join(os.path.dirname(path), name) if name else None


def tables_of(run: thalweg.Run, config: TdpacConfig) -> tuple[str, ...]:
    """Returns the tables of the detectors. Raises UsageError if one has not the columns, or if there are none."""
    wanted = (config.timestamp, config.energy)
    for name in config.tables:
        missing = [each for each in wanted if name not in run or each not in run[name].schema]
        if missing:
            why = f"has no column '{missing[0]}'" if name in run else "does not exist"
            raise UsageError(f"{run.path}: table '{name}' {why}: see `thalweg inspect`, and set it in the file")
    found = config.tables or tuple(name for name in run if all(each in run[name].schema for each in wanted))
    if len(found) < 2:
        raise UsageError(
            f"{run.path} has {len(found)} tables with the columns '{wanted[0]}' and '{wanted[1]}' (coincidences need "
            "two detectors): set timestamp and energy in the configuration"
        )
    return found


def check_times(table: Any, config: TdpacConfig) -> str:
    """Returns the unit of the times of a table. Raises UsageError if it is no unit of time."""
    unit = str(table.schema[config.timestamp].unit)
    if unit not in PICOSECONDS:
        raise UsageError(
            f"table '{table.name}': column '{config.timestamp}' has the unit '{unit}' (times need one of "
            f"{', '.join(PICOSECONDS)})"
        )
    return unit


def _hits(table: Any, config: TdpacConfig) -> Iterator[Hits]:
    unit = check_times(table, config)
    for rows in table.batches([config.timestamp, config.energy], rows=_ROWS):
        yield picoseconds(rows[config.timestamp], unit), rows[config.energy]
