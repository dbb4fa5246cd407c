"""The coincidences of a run that is watched, counted as `thalweg tdpac` counts them."""

from __future__ import annotations

from typing import Any

import thalweg
from thalweg._hits.histogram import EnergyHistogram
from thalweg._hits.side_by_side import Hits
from thalweg._watching.proposals import HitMemory, proposal_of
from thalweg.tdpac import Spectra, SpectraCounter, TdpacConfig, hit_columns


class CountedPairs:
    """Raises UsageError if the run does not have what the configuration names."""

    def __init__(self, run: thalweg.Run, config: TdpacConfig, delays_ps: tuple[float, ...] | None) -> None:
        self._config = config
        self._columns = hit_columns(run, config)
        self.tables = tuple(self._columns)
        self._delays_ps = delays_ps or config.delays_ps
        self._counter = SpectraCounter(config, self.tables, self._delays_ps)
        self._memory = HitMemory()

    @property
    def counts(self) -> tuple[int, int]:
        """The coincidences, and the hits that came too late for some of their partners."""
        return self._counter.coincidences, self._counter.late

    def prepare(self, detector: Any) -> None:
        """Lets a detector read the columns of the configuration, and count the energies around its windows."""
        columns, number = self._columns[detector.name], self.tables.index(detector.name)
        detector.energy, detector.timestamp, detector.unit = columns.energy, columns.times, columns.unit
        detector.stored = columns
        detector.follower = self._config.follower_of(number)
        detector.energy_unit = "keV" if detector.follower else detector.energy_unit
        detector.windows = self._config.windows_of(number)
        detector.energies = EnergyHistogram.around(detector.windows)

    def add(self, number: int, hits: Hits) -> None:
        if number < len(self.tables):
            self._counter.add(number, *hits)
            self._memory.add(number, hits)

    def pair(self) -> None:
        self._counter.pair()

    def proposal(self, said: bytes) -> dict[str, Any]:
        """Returns what a window that a viewer proposes would give. Raises UsageError if it is no window."""
        return proposal_of(said, self._config, self.tables, self._delays_ps, self._memory.pieces())

    def spectra(self) -> Spectra:
        return self._counter.spectra()
