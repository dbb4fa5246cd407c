"""One pass over a run, from its first row on: it counts each row once, as soon as the row is safe."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import thalweg
from thalweg._hits.histogram import EnergyHistogram
from thalweg._hits.side_by_side import EARLIEST_PS, Hits, side_by_side
from thalweg._reading.run import pieces_of
from thalweg._watching.changes import Changes
from thalweg._watching.detectors import Arrival, Detector, Signals, detector_of, scope_of

if TYPE_CHECKING:
    from thalweg._watching.coincidences import CountedPairs

_SCOPE_EVERY_S = 1.0
_BEHIND_S = 2.0
"""What was new in a run takes so long to read: the page is behind it."""


@dataclass(frozen=True)
class Asked:
    """What the command was asked to show."""

    path: str
    signals: Callable[[Any], Signals | None]
    """Finds the columns of a table."""
    pairs: Callable[[thalweg.Run, Changes], CountedPairs] | None = None
    """Makes what counts coincidences, if they are counted."""
    configuration: str = ""
    """The text of the configuration by which they are counted and fitted."""
    has_delays: bool = False
    """Whether the configuration says how late the detectors are."""


class Counting:
    """Raises UsageError if the run cannot be followed, or does not have what the configuration names."""

    def __init__(self, asked: Asked, changes: Changes) -> None:
        self._asked = asked
        self.changes = changes
        self.is_over = False
        self._look_begin = 0.0
        self.look_s = 0.0
        """How long the last look for new rows took, without the time in which they were read."""
        self.files = [asked.path]
        with thalweg.open(asked.path) as run:
            self.following = pieces_of(run)
            found = {name: detector_of(run[name], asked.signals(run[name])) for name in run}
            self.pairs = asked.pairs(run, changes) if asked.pairs else None
        coincident = self.pairs.tables if self.pairs else ()
        self.detectors = {name: found[name] for name in (*coincident, *found)}
        for each in self.detectors.values():
            if self.pairs and each.name in coincident:
                self.pairs.prepare(each)
            elif each.energy:
                each.energies = EnergyHistogram()
        self._numbers = {name: number for number, name in enumerate(self.detectors)}
        self._newest = [EARLIEST_PS] * len(self.detectors)
        self._next_scope = 0.0
        self._behind: dict[str, float] = {}
        """How far each detector was behind after the last look."""

    @property
    def rows(self) -> int:
        """The rows of all tables that were read."""
        return sum(each.rows for each in self.detectors.values())

    @property
    def newest_ps(self) -> int | None:
        return max((each.newest_ps for each in self.detectors.values() if each.newest_ps is not None), default=None)

    def behind_s(self, detector: Detector, newest_ps: int | None = None) -> float:
        """How far the newest hit of a detector is behind a certain one, by default the newest one of all; without a
        hit, the first one of all."""
        reached = detector.newest_ps
        if reached is None:
            begins = (each.first_ps for each in self.detectors.values() if each.first_ps is not None)
            reached = min(begins, default=None)
        newest = self.newest_ps if newest_ps is None else newest_ps
        return 0.0 if newest is None or reached is None else (newest - reached) * 1e-12

    def look(self, between: Callable[[], None]) -> bool:
        """Reads and counts what is new, and returns whether there was anything. `between`: called now and then."""
        self._look_begin = time.monotonic()
        new = self.following.look()
        self.look_s = time.monotonic() - self._look_begin
        pieces: dict[str, list[Any]] = defaultdict(list)
        for each in new:
            pieces[each.rows.name].append(each.rows)
        hits = {self._numbers[name]: self._hits(name, of_table) for name, of_table in pieces.items()}
        for round_ in side_by_side(hits, self._newest):
            if self.pairs is not None:
                for number, got in round_:
                    self.pairs.add(number, got)
                self.pairs.pair()
            between()
        self._note_rates()
        self._note_arrivals(pieces)
        self._draw_scopes({name: of_table[-1] for name, of_table in pieces.items()})
        if self.following.is_over:
            following = self.following.in_next_file()
            self.is_over = following is None
            if self.is_over:
                self._add_last_hits()
            if following is not None:
                self.following = following
                self.files.append(following.path)
        return bool(new)

    def follow_load(self) -> bool:
        """Lets the share of slices in which features are computed follow the load of this pass, while and behind a
        look. Returns whether it has changed."""
        if self.pairs is None or self.pairs.slices is None:
            return False
        computing_s = sum(each.computing_s for each in self.detectors.values())
        is_behind = time.monotonic() - self._look_begin > _BEHIND_S
        return self.pairs.slices.follow(computing_s, self.newest_ps, is_behind)

    def _add_last_hits(self) -> None:
        for number, each in enumerate(self.detectors.values()):
            for got in each.last_hits():
                if self.pairs is not None:
                    self.pairs.add(number, got)
        if self.pairs is not None:
            self.pairs.pair()

    def calibrating(self) -> str:
        """Returns which detectors have no energies yet because they are not calibrated, in a sentence, or an empty
        text."""
        found = []
        for name, each in self.detectors.items():
            if each.follower is not None and (waits := each.follower.waits_for) is not None:
                found.append(f"{name} ({waits[0]:,} of {waits[1]:,} hits)")
        if not found or self.is_over:
            return ""
        return f"Energies and coincidences are counted when they are calibrated: this waits for {', '.join(found)}."

    def stream_news(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the slow streams that have changed since the last call."""
        for each in self.detectors.values():
            for stream in each.streams:
                if (news := stream.news()) is not None:
                    yield stream.name, news

    def _hits(self, name: str, pieces: list[Any]) -> Iterator[Hits]:
        detector = self.detectors[name]
        return chain.from_iterable(detector.hits_of(piece) for piece in pieces)

    def _note_rates(self) -> None:
        now = time.monotonic()
        for each in self.detectors.values():
            if not each.has_times:
                each.rate.note(now, each.rows)
            elif each.newest_ps is not None:
                each.rate.note(each.newest_ps * 1e-12, each.rows)

    def _note_arrivals(self, came: Container[str]) -> None:
        now = time.monotonic()
        behind = {name: self.behind_s(each) for name, each in self.detectors.items()}
        for name, before_s in self._behind.items():
            if name in came:
                self.detectors[name].arrival = Arrival(now, min(before_s, behind[name]))
        self._behind = behind

    def _draw_scopes(self, newest: dict[str, Any]) -> None:
        """Reads the newest waveform of each table, once a second: it costs a page each."""
        now = time.monotonic()
        if now < self._next_scope:
            return
        for name, piece in newest.items():
            if self.detectors[name].waveform:
                signals = self._asked.signals(piece[len(piece) - 1 :])
                assert signals is not None
                self.detectors[name].scope = scope_of(signals)
                self._next_scope = now + _SCOPE_EVERY_S
