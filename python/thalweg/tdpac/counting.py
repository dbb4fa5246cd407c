"""Counts the coincidences of a run: reads the hits of all detectors side by side, and pairs them in the core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import thalweg
from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._features.compass import CompassFile, is_compass
from thalweg._hits.side_by_side import Hits, side_by_side
from thalweg._reading.not_complete import not_complete
from thalweg.tdpac.config import TdpacConfig
from thalweg.tdpac.hits import HitColumns, columns_of
from thalweg.tdpac.remarks import DetectorRemarks, remarks_of, tables_apart
from thalweg.tdpac.spectra import Spectra


class SpectraCounter:
    """Counts hits that are added in any order: each pair once, as long as the earlier of its hits is in memory."""

    def __init__(
        self, config: TdpacConfig, tables: tuple[str, ...], delays_ps: tuple[float, ...] | None = None
    ) -> None:
        self._config = config
        self._tables = tables
        self.delays_ps = tuple(delays_ps or (0.0,) * len(tables))
        if len(self.delays_ps) != len(tables):
            raise UsageError(f"there are {len(self.delays_ps)} delays and {len(tables)} detectors: give one for each")
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

    @property
    def longest_ps(self) -> float:
        """The longest time between a start and a stop that are counted."""
        return max(abs(each) for each in self._config.range_ns) * 1e3

    def add(self, detector: int, times_ps: npt.NDArray[np.int64], energies: npt.NDArray[Any]) -> None:
        """Adds hits of a detector. They count after the next `pair`."""
        times = np.ascontiguousarray(times_ps, np.int64)
        of_hits = np.ascontiguousarray(energies, np.float32)
        self._core.add(detector, self._windows[detector], times, of_hits, round(self.delays_ps[detector]))

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
            self.delays_ps,
            self._core.counts.as_json(),
        )


def _as_windows(given: dict[str, tuple[float, float]]) -> _core.EnergyWindows:
    windows = _core.EnergyWindows()
    windows.start_begin, windows.start_end = given["start"]
    windows.stop_begin, windows.stop_end = given["stop"]
    return windows


def count(
    path: str,
    config: TdpacConfig,
    delays_ps: tuple[float, ...] | None = None,
    most: int | None = None,
    made: bool = False,
) -> Spectra:
    """Counts all coincidences of a run, in all its files, or about `most`. An open run is counted as far as it goes.

    made: whether energies, times and flags are made of samples where they are not stored. Then the run may also be a
        list file of CoMPASS.

    Raises UsageError if a table or column of the configuration is not there.
    """
    if made and config.features is None:
        raise UsageError("the configuration does not say how features are made: add [features], with bits = 10 or so")
    found: _Found | None = None
    for run in _compass(path, config) if made and is_compass(path) else _files(path):
        columns = hit_columns(run, config, made)
        if found is None:
            found = _Found(config, tuple(columns), delays_ps)
        for round_ in side_by_side(found.hits_of(run, columns)):
            for detector, got in round_:
                found.add(detector, got)
            if found.counter.pair() >= (most or 1 << 62):
                return found.counter.spectra()
        found.left_out += [each for of_table in columns.values() for each in of_table.sentences()]
        found.left_out += filter(None, [not_complete(run)] if isinstance(run, thalweg.Run) else [])
    assert found is not None
    return found.finish()


class _Found:
    """What is found in the files of a run."""

    def __init__(self, config: TdpacConfig, tables: tuple[str, ...], delays_ps: tuple[float, ...] | None) -> None:
        self.counter = SpectraCounter(config, tables, delays_ps)
        self.left_out: list[str] = []
        self._remarks = [DetectorRemarks(name, config.windows_of(number)) for number, name in enumerate(tables)]
        self._followers = [config.follower_of(number) for number in range(len(tables))]

    def hits_of(self, run: Any, columns: dict[str, HitColumns]) -> dict[int, Iterator[Hits]]:
        return {
            number: self._calibrated(number, of.read(run[name])) for number, (name, of) in enumerate(columns.items())
        }

    def _calibrated(self, number: int, hits: Iterator[Hits]) -> Iterator[Hits]:
        follower = self._followers[number]
        for each in hits:
            yield from follower.add(each) if follower else (each,)

    def add(self, detector: int, hits: Hits) -> None:
        self.counter.add(detector, *hits)
        self._remarks[detector].note(hits)

    def finish(self) -> Spectra:
        calibrated, uncalibrated = [], []
        for number, follower in enumerate(self._followers):
            for hits in follower.finish() if follower else ():
                self.add(number, hits)
            calibrated += follower.sentences(self.counter.tables[number]) if follower else []
            uncalibrated += [self.counter.tables[number]] if follower and not follower.gains else []
        self.counter.pair()
        remarks = [*self.left_out, *calibrated, *remarks_of(self._remarks)]
        apart = tables_apart(self._remarks, self.counter.delays_ps, self.counter.longest_ps)
        return replace(
            self.counter.spectra(),
            remarks=remarks,
            uncalibrated=uncalibrated,
            apart=apart,
            have_peaks=not all(each.has_no_peak for each in self._remarks),
        )


def _files(path: str) -> Iterator[thalweg.Run]:
    """Yields the run of a path and those in which it goes on."""
    with thalweg.open(path, next_files=True) as run:
        yield from run.parts


def _compass(path: str, config: TdpacConfig) -> Iterator[CompassFile]:
    assert config.features is not None
    yield CompassFile(path, config.features, config.timestamp)


def hit_columns(run: Any, config: TdpacConfig, made: bool = False, keeps_stored: bool = False) -> dict[str, HitColumns]:
    """Returns the columns of the detectors, by table. Raises UsageError if one has not the columns, or if there are
    fewer than two."""
    found = {}
    for name in config.tables or tuple(run):
        columns = columns_of(run[name], config, run.metadata, made, keeps_stored) if name in run else None
        if columns is not None:
            found[name] = columns
        elif config.tables:
            raise UsageError(f"{run.path}: table '{name}' {_missing(run, name, config)}: see `thalweg inspect`")
    if len(found) < 2:
        of_waveforms = "give --features" if not keeps_stored else "add [features], with bits = 10 or so,"
        raise UsageError(
            f"{run.path} has {len(found)} tables with the columns '{config.timestamp}' and '{config.energy}' "
            f"(coincidences need two detectors): set timestamp and energy in the configuration, or {of_waveforms} if "
            "there are waveforms"
        )
    return found


def _missing(run: Any, name: str, config: TdpacConfig) -> str:
    if name not in run:
        return "does not exist"
    missing = [each for each in (config.timestamp, config.energy) if each not in run[name].schema]
    return f"has no column '{missing[0]}'"
