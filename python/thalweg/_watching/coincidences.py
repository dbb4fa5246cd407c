"""The coincidences of a run that is watched, counted as `thalweg tdpac` counts them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import thalweg
from thalweg._hits.histogram import EnergyHistogram
from thalweg._hits.side_by_side import Hits
from thalweg._watching.changes import Changes
from thalweg._watching.proposals import HitMemory, proposal_of
from thalweg._watching.slices import Slices
from thalweg._watching.windows import OF_CONFIGURATION, Windows, check_is_shown, window_of, windows_with
from thalweg.tdpac import Spectra, SpectraCounter, TdpacConfig, hit_columns

_SHOWN_STRETCHES = 20


class CountedPairs:
    """Raises UsageError if the run does not have what the configuration names."""

    def __init__(self, run: thalweg.Run, config: TdpacConfig, changes: Changes, slices: Slices | None = None) -> None:
        self._configured = config
        windows = changes.windows
        self._config = config if windows is None else replace(config, start=windows.start, stop=windows.stop)
        self._columns = hit_columns(run, config, made=True, keeps_stored=True)
        self.tables = tuple(self._columns)
        self.computed = tuple(name for name, each in self._columns.items() if each.made)
        """The tables whose features are made of samples."""
        # Detectors whose energies are stored count in the same slices, so that all pairs have the same share.
        self.slices = (slices or Slices()) if self.computed else None
        self._delays_ps = changes.delays_ps or config.delays_ps
        self._counter = SpectraCounter(self._config, self.tables, self._delays_ps)
        self._memory = HitMemory()
        self._shown: dict[str, tuple[float, str]] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """The coincidences, and the hits that came too late for some of their partners."""
        return self._counter.coincidences, self._counter.late

    @property
    def computed_pulses(self) -> int | None:
        """How many pulses have features that were made of samples, or None if no table has."""
        return sum(self._columns[name].hits for name in self.computed) if self.computed else None

    def newest_slices(self) -> list[tuple[int, int]] | None:
        """Returns in which slices features are computed, or None if none are: from which one on, one of how many."""
        return self.slices.stretches(_SHOWN_STRETCHES) if self.slices is not None else None

    def computed_words(self) -> str:
        """Returns of which tables features are made of samples, and in which slices, or an empty text."""
        if not self.computed:
            return ""
        share = "" if self.slices is None or self.slices.one_of == 1 else " All pairs count in these slices only."
        names = ", ".join(self.computed)
        return (
            f"Energies and times of {names} are not stored: they are computed from the samples of {self.slices} "
            f"({self.computed_pulses:,} so far).{share}"
        )

    def prepare(self, detector: Any) -> None:
        """Lets a detector read the columns of the configuration, and count the energies around its windows."""
        columns, number = self._columns[detector.name], self.tables.index(detector.name)
        detector.energy, detector.timestamp, detector.unit = columns.energy, columns.times, columns.unit
        detector.stored = columns
        detector.slices = self.slices
        detector.energy_unit = detector.energy_unit if columns.energy else "ADC ns"
        detector.follower = self._config.follower_of(number)
        detector.energy_unit = "keV" if detector.follower else detector.energy_unit
        detector.windows = self._config.windows_of(number)
        # Energies go as far with any windows: so a viewer can return from low ones.
        configured = {f"configured {kind}": each for kind, each in self._configured.windows_of(number).items()}
        detector.energies = EnergyHistogram.around({**configured, **detector.windows})
        self._shown[detector.name] = float(detector.energies.edges[-1]), detector.energy_unit

    def add(self, number: int, hits: Hits) -> None:
        if number < len(self.tables):
            self._counter.add(number, *hits)
            self._memory.add(number, hits)

    def pair(self) -> None:
        self._counter.pair()

    def proposal(self, given: Any) -> dict[str, Any]:
        """Returns what a window that a viewer proposes would give. Raises UsageError if it is no window."""
        return proposal_of(given, self._config, self.tables, self._delays_ps, self._memory.pieces())

    def windows_with(self, given: Any, latest: Windows | None) -> Windows | None:
        """Returns what `latest` becomes by a window that a viewer gives. None: the windows of the configuration. Raises
        UsageError if it is no window, is outside of what is shown, or overlaps the other one."""
        if given == OF_CONFIGURATION:
            return None
        configured = Windows(self._configured.start, self._configured.stop)
        kind, window = window_of(given, self._configured, self.tables)
        check_is_shown(given, *self._shown[given["table"]])
        changed = windows_with(latest or configured, kind, window)
        return None if changed == configured else changed

    def spectra(self) -> Spectra:
        return self._counter.spectra()
