"""What is wrong with a run that is taken, as far as its hits show it."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from thalweg._hits.limits import FLOOD, SILENCE_S
from thalweg._hits.peaks import peak_in
from thalweg._watching.clocks import Clocks, clocks_of
from thalweg._watching.counting import Counting
from thalweg._watching.detectors import Detector

KINDS = (
    "silent",
    "clock",
    "flooding",
    "no peak",
    "drift",
    "resolution",
    "late",
    "outside",
    "no rows",
    "refused",
    "not written",
    "reading",
)
_LOG_LINES = 100


@dataclass(frozen=True)
class Limits:
    silence_s: float = SILENCE_S
    flood: float = FLOOD
    outside: float = 0.01
    """The share of energies beyond the histogram that is worth a word."""


@dataclass(frozen=True)
class Alarm:
    kind: str
    table: str
    text: str


def alarms_of(counting: Counting, limits: Limits) -> list[Alarm]:
    """Returns what is wrong with the hits so far."""
    found: list[Alarm] = []
    timed = [each for each in counting.detectors.values() if each.has_hits]
    rates = {each.name: each.rate.per_second for each in timed}
    clocks = clocks_of(timed, limits.silence_s)
    found += [_of_clock(each, clocks) for each in clocks.others]
    for each in timed:
        others = [rate for name, rate in rates.items() if name != each.name and rate is not None]
        usual = statistics.median(others) if others else None
        behind_s = 0.0 if each in clocks.others else counting.behind_s(each, clocks.newest_ps)
        found += _of_rate(each, behind_s, usual, limits)
    for each in counting.detectors.values():
        found += _of_energies(each, limits)
    if counting.pairs is not None and (late := counting.pairs.counts[1]):
        found.append(Alarm("late", "", f"{late:,} hits came so late that some of their partners had left the memory"))
    return found


def _of_clock(each: Detector, clocks: Clocks) -> Alarm:
    assert each.newest_ps is not None
    assert clocks.newest_ps is not None
    away_s = (each.newest_ps - clocks.newest_ps) * 1e-12
    of_others = ", ".join(other.name for other in clocks.usual)
    where = f"{abs(away_s):,.1f} s {'ahead of' if away_s > 0 else 'behind'} those of {of_others}"
    return Alarm("clock", each.name, f"the timestamps of {each.name} are {where}, and hits come")


def _of_rate(each: Detector, behind_s: float, of_others: float | None, limits: Limits) -> list[Alarm]:
    if behind_s > limits.silence_s:
        since = "has no hit yet" if each.rows == 0 else f"has had no hit for {behind_s:,.1f} s"
        return [Alarm("silent", each.name, f"{each.name} {since}, while others have")]
    rate, mean = each.rate.per_second, each.mean_rate
    for usual, whose in ((of_others, "of the other detectors"), (mean, "that it had so far")):
        if rate is not None and usual is not None and usual > 0 and rate > limits.flood * usual:
            text = f"{each.name} has {rate:,.0f} hits a second, {rate / usual:.1f} times the rate {whose}"
            return [Alarm("flooding", each.name, text)]
    return []


def _of_energies(each: Detector, limits: Limits) -> list[Alarm]:
    if each.energies is None:
        return []
    found = []
    for kind, window in each.windows.items():
        peak = peak_in(each.energies, window)
        where = f"the {kind} window of {each.name} ({window[0]:.4g} to {window[1]:.4g} {each.energy_unit})".rstrip()
        if peak is not None and not peak.is_there:
            found.append(Alarm("no peak", each.name, f"there is no peak in {where}"))
        elif peak is not None and peak.has_drifted:
            far = f"{abs(peak.off):.0%} of half its width from its middle"
            found.append(Alarm("drift", each.name, f"the peak in {where} is at {peak.centre:.4g}, {far}"))
        first = peak_in(each.energies, window, of_first=True)
        if peak is not None and first is not None and peak.is_broader_than(first):
            wide = f"{peak.width:.3g} wide (full width at half maximum), and was {first.width:.3g} in the beginning"
            found.append(Alarm("resolution", each.name, f"the peak in {where} is {wide}"))
    outside = each.energies.outside
    if not each.windows and each.rows > 100 and outside > limits.outside * each.rows:
        found.append(Alarm("outside", each.name, f"{outside:,} energies of {each.name} are negative or no numbers"))
    return found


class AlarmLog:
    """Keeps when alarms came and went."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_LOG_LINES)
        self._present: dict[tuple[str, str], tuple[Alarm, str]] = {}

    def note(self, alarms: list[Alarm]) -> None:
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        present = {(each.kind, each.table): each for each in alarms}
        for key, alarm in present.items():
            if key not in self._present:
                self.lines.append(f"{now} {alarm.text}")
        for key, (alarm, _) in self._present.items():
            if key not in present:
                self.lines.append(f"{now} {alarm.kind}{f', {alarm.table}' if alarm.table else ''}: this is over")
        self._present = {key: (each, self._present.get(key, (each, now))[1]) for key, each in present.items()}

    def say(self, line: str) -> None:
        self.lines.append(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}")

    @property
    def present(self) -> list[Alarm]:
        return [alarm for alarm, _ in self._present.values()]

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {"kind": alarm.kind, "table": alarm.table, "text": alarm.text, "since": since}
            for alarm, since in self._present.values()
        ]
