"""Compares what settings should be with what they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg import _core
from thalweg._readout.network.cards import Card
from thalweg._readout.network.machine import Machine
from thalweg._readout.network.settings import NotThere, Setting, processors_of
from thalweg._readout.network.wishes import Rule, Wish, Wishes, wishes_of

NOT_YET = "not there yet"


@dataclass(frozen=True)
class Change:
    """A line of the plan."""

    setting: Setting
    before: str
    after: str
    why: str
    source: str


@dataclass(frozen=True)
class Absent:
    """What was wished, and the machine does not have."""

    setting: Setting
    reason: str


@dataclass(frozen=True)
class NetworkPlan:
    changes: Sequence[Change]
    kept: Sequence[Change]
    """What is already as it should be; before and after are equal."""
    absent: Sequence[Absent]
    warnings: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as plain values, for JSON."""
        return {
            "changes": [_facts(each) for each in self.changes],
            "kept": [_facts(each) for each in self.kept],
            "absent": [{"what": each.setting.what, "why": each.reason} for each in self.absent],
            "warnings": list(self.warnings),
        }


def plan_of(
    machine: Machine,
    topology: _core.Topology,
    pinned: _core.Plan,
    names: Sequence[str],
    settled: Collection[str] = (),
) -> tuple[NetworkPlan, list[Card]]:
    """Reads the machine as it is now, and returns the plan for these interfaces, and what they are.

    The number of channels of those that are `settled` is taken as it is. Raises UsageError if there is no such
    interface, SystemError if something cannot be read."""
    cards = [machine.card(name) for name in names]
    fixed = [replace(card, channels={}) if card.name in settled else card for card in cards]
    wishes = wishes_of(topology, pinned, fixed)
    return compare(wishes, values_of(machine, wishes.wishes)), cards


def values_of(machine: Machine, wishes: Sequence[Wish]) -> dict[Setting, str | NotThere]:
    """Returns the value of each setting that is there by now. Raises SystemError if one cannot be read."""
    found: dict[Setting, str | NotThere] = {}
    for wish in wishes:
        if not wish.is_new:
            try:
                found[wish.setting] = machine.read(wish.setting)
            except NotThere as why:
                found[wish.setting] = why
    return found


def compare(wishes: Wishes, values: Mapping[Setting, str | NotThere]) -> NetworkPlan:
    """Returns the plan for settings that have these values."""
    changes: list[Change] = []
    kept: list[Change] = []
    absent: list[Absent] = []
    for wish in wishes.wishes:
        now = NOT_YET if wish.is_new else values[wish.setting]
        if isinstance(now, NotThere):
            absent.append(Absent(wish.setting, str(now)))
            continue
        after = wish.value if wish.is_new or not _is_met(wish, now) else now
        (kept if after == now else changes).append(Change(wish.setting, now, after, wish.why, wish.source))
    return NetworkPlan(changes, kept, absent, wishes.warnings)


def _is_met(wish: Wish, now: str) -> bool:
    if wish.rule is Rule.AT_LEAST:
        return int(now) >= int(wish.value)
    if wish.rule is Rule.AT_MOST:
        return int(now) <= int(wish.value)
    if wish.rule is Rule.IF_ZERO:
        return int(now) != 0
    return is_same(wish.setting, now, wish.value)


def is_same(setting: Setting, first: str, second: str) -> bool:
    """Returns whether two values of a setting mean the same."""
    if setting.has_processors:
        return processors_of(first) == processors_of(second)
    return first == second


def _facts(change: Change) -> dict[str, str]:
    return {
        "what": change.setting.what,
        "from": change.before,
        "to": change.after,
        "why": change.why,
        "source": change.source,
    }
