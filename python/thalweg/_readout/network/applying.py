"""Applies a plan, checks whether it is still in effect, and restores what was set before."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._readout.network.cards import Card
from thalweg._readout.network.journal import Entry, Journal, JournalContent
from thalweg._readout.network.machine import Machine
from thalweg._readout.network.planning import Absent, Change, NetworkPlan, is_same
from thalweg._readout.network.settings import Kind, NotThere, Refused, Setting


class State(StrEnum):
    """What became of a setting."""

    APPLIED = "applied"
    ROUNDED = "rounded"
    """The machine took another value than the one that was written."""
    REFUSED = "refused"
    UNFINISHED = "not finished"
    """The program was killed while it applied the plan."""
    ABSENT = "absent"
    OVERRIDDEN = "overridden since"
    RESTORED = "restored"
    UNCHANGED = "as before"


@dataclass(frozen=True)
class Outcome:
    """What became of one setting: `found` is what was read back, and empty if it is not there."""

    setting: Setting
    before: str
    wanted: str
    found: str
    state: State
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the outcome as plain values, for JSON."""
        return {
            "what": self.setting.what,
            "from": self.before,
            "to": self.wanted,
            "found": self.found,
            "state": str(self.state),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class NetworkReport:
    outcomes: Sequence[Outcome]
    warnings: Sequence[str] = ()

    def has_some(self, *states: State) -> bool:
        return any(outcome.state in states for outcome in self.outcomes)


Planner = Callable[[Collection[str]], tuple[NetworkPlan, Sequence[Card]]]
"""Reads the machine as it is now, and returns the plan for it and the cards of the plan.

The numbers of channels of the named cards are taken as they are."""


def apply(machine: Machine, planner: Planner, journal: Journal) -> NetworkReport:
    """Sets what the plan says: first the number of channels, since queues and interrupts depend on it.

    The journal has all values of before, on the disk, when the first one is changed. Raises UsageError if settings of
    this boot were applied before."""
    with journal.locked():
        content = _begin(machine, journal)
        outcomes: list[Outcome] = []
        settled: set[str] = set()
        while True:
            plan, cards = planner(settled)
            of_channels = [each for each in plan.changes if each.setting.kind is Kind.CHANNELS]
            changes = of_channels or plan.changes
            if not changes:
                break
            _note(machine, content, changes, cards)
            journal.save(content)
            outcomes += [_set(machine, change) for change in changes]
            settled |= {change.setting.card for change in of_channels}
            if not of_channels:
                break
        for outcome in outcomes:
            entry = next(each for each in content.entries if each.setting == outcome.setting)
            entry.found, entry.outcome = outcome.found, str(outcome.state)
        if outcomes:
            journal.save(content)
        return NetworkReport([*outcomes, *map(_absent, plan.absent)], plan.warnings)


def check(machine: Machine, journal: Journal) -> NetworkReport:
    """Returns whether what was applied is still in effect. Raises UsageError if nothing was applied."""
    content = _needed(machine, journal)
    return NetworkReport([_checked(machine, content, entry) for entry in content.entries if entry.after is not None])


def revert(machine: Machine, journal: Journal) -> NetworkReport:
    """Restores all values of before, and removes the journal if each of them is restored, or its card is gone.

    Raises UsageError if nothing was applied."""
    _needed(machine, journal)
    with journal.locked():
        return _revert(machine, _needed(machine, journal), journal)


def _revert(machine: Machine, content: JournalContent, journal: Journal) -> NetworkReport:
    first = [entry for entry in content.entries if entry.setting.kind is Kind.CHANNELS]
    then = [entry for entry in content.entries if entry.setting.kind is not Kind.CHANNELS]
    report = NetworkReport([_restored(machine, content, entry) for entry in (*first, *then)])
    if not report.has_some(State.REFUSED):
        journal.remove()
    return report


def _begin(machine: Machine, journal: Journal) -> JournalContent:
    boot, namespace = machine.boot(), machine.namespace()
    earlier = journal.load()
    if earlier and earlier.boot == boot:
        raise UsageError(f"settings were applied before (their journal is {journal.path}): --revert them first")
    return JournalContent(boot, namespace)  # what was set in another boot has ended with it


def _needed(machine: Machine, journal: Journal) -> JournalContent:
    content = journal.load()
    if content is None:
        raise UsageError(f"nothing was applied (there is no journal {journal.path}): --plan shows what would be set")
    if content.boot != machine.boot():
        journal.remove()
        raise UsageError(
            f"what was applied has ended with an earlier boot (as its journal says, which is removed: {journal.path}): "
            "--apply sets it again"
        )
    if content.namespace != machine.namespace():
        raise UsageError(f"{journal.path} is the journal of another network namespace: run the command there")
    return content


def _note(machine: Machine, content: JournalContent, changes: Sequence[Change], cards: Sequence[Card]) -> None:
    """Adds changes to the journal; with those of channels, all that a card may lose by them."""
    known = {entry.setting: entry for entry in content.entries}
    content.cards |= {card.name: card.index for card in cards}
    for change in changes:
        if entry := known.get(change.setting):
            entry.after = change.after  # it was noted with the value of before the channels were changed
        else:
            content.entries.append(Entry(change.setting, change.before, change.after))
    of_channels = {each.setting.card for each in changes if each.setting.kind is Kind.CHANNELS}
    for card in (card for card in cards if card.name in of_channels):
        for setting in machine.settings_of(card):
            try:
                content.entries.append(Entry(setting, machine.read(setting), None))
            except NotThere:
                continue  # then it cannot be lost


def _set(machine: Machine, change: Change) -> Outcome:
    setting, before, after = change.setting, change.before, change.after
    try:
        machine.write(setting, after)
        found = machine.read(setting)
    except NotThere as why:
        return Outcome(setting, before, after, "", State.ABSENT, str(why))
    except Refused as why:
        return Outcome(setting, before, after, _read_again(machine, setting), State.REFUSED, str(why))
    if is_same(setting, found, after):
        return Outcome(setting, before, after, found, State.APPLIED)
    if is_same(setting, found, before):
        return Outcome(setting, before, after, found, State.REFUSED, "the value was taken, and has not changed")
    return Outcome(setting, before, after, found, State.ROUNDED, f"{after} became {found}")


def _checked(machine: Machine, content: JournalContent, entry: Entry) -> Outcome:
    setting, before, wanted = entry.setting, entry.before, entry.after or ""
    try:
        found = _read_of_this_card(machine, content, setting)
    except NotThere as why:
        was_there = entry.outcome not in ("", State.ABSENT)
        return Outcome(setting, before, wanted, "", State.OVERRIDDEN if was_there else State.ABSENT, str(why))
    if not entry.outcome:
        reason = "--apply was interrupted: --revert, and --apply again"
        return Outcome(setting, before, wanted, found, State.UNFINISHED, reason)
    state = State(entry.outcome)
    if state is not State.ABSENT and not is_same(setting, found, entry.found or ""):
        return Outcome(setting, before, wanted, found, State.OVERRIDDEN, f"it was {entry.found}")
    return Outcome(setting, before, wanted, found, state)


def _restored(machine: Machine, content: JournalContent, entry: Entry) -> Outcome:
    setting, before = entry.setting, entry.before
    try:
        now = _read_of_this_card(machine, content, setting)
        if is_same(setting, now, before):
            return Outcome(setting, before, before, now, State.UNCHANGED)
        machine.write(setting, before)
        found = machine.read(setting)
    except NotThere as why:
        return Outcome(setting, before, before, "", State.ABSENT, str(why))
    except Refused as why:
        return Outcome(setting, before, before, _read_again(machine, setting), State.REFUSED, str(why))
    if is_same(setting, found, before):
        return Outcome(setting, before, before, found, State.RESTORED, f"it was {now}")
    return Outcome(setting, before, before, found, State.REFUSED, f"the value was taken, and is {found}")


def _read_of_this_card(machine: Machine, content: JournalContent, setting: Setting) -> str:
    if setting.card and machine.index_of(setting.card) != content.cards.get(setting.card):
        raise NotThere("another interface has this name now")
    return machine.read(setting)


def _read_again(machine: Machine, setting: Setting) -> str:
    try:
        return machine.read(setting)
    except NotThere as why:
        raise SystemError(errno.ENOENT, f"{setting.what} cannot be read any more ({why})") from None


def _absent(absent: Absent) -> Outcome:
    return Outcome(absent.setting, "", "", "", State.ABSENT, absent.reason)
