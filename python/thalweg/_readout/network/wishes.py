"""The plan itself: what the settings should be, and why. A pure function of the machine, of where threads are pinned,
and of what the network cards have and can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from thalweg import _core
from thalweg._readout.network.cards import Card, queue_of
from thalweg._readout.network.settings import NO_PROCESSORS, Kind, Setting, processors_text

_PAPER = "ATLAS HL-LHC readout"
_SCALING = "scaling.rst"
_SERVE, _BUILD = "serve", "build"
_FLOWS = 131_072
_RECEIVE_FRAMES = 512
_RETRANSMIT_US = 5000
_COALESCE = (
    ("adaptive-rx", 0), ("adaptive-tx", 0),
    ("rx-usecs", 256), ("rx-frames", _RECEIVE_FRAMES), ("tx-usecs", 64), ("tx-frames", 512),
)  # fmt: skip


class Rule(Enum):
    """How the wanted value compares with the one that is set."""

    EXACTLY = "exactly"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    IF_ZERO = "if it is 0"


@dataclass(frozen=True)
class Wish:
    setting: Setting
    value: str
    why: str
    source: str
    """The document or the measurement that says so."""
    rule: Rule = Rule.EXACTLY
    is_new: bool = False
    """Whether the setting comes into being only when the number of channels is changed."""


@dataclass(frozen=True)
class Wishes:
    wishes: Sequence[Wish]
    warnings: Sequence[str]


def wishes_of(topology: _core.Topology, plan: _core.Plan, cards: Sequence[Card]) -> Wishes:
    """Returns what the settings should be for handlers that are pinned by this plan, and what is not as it should be.

    Nothing is asked of this machine here, so that a plan can be made, and tested, for any other one."""
    places = _Places(topology, plan)
    wishes: list[Wish] = []
    warnings = list(places.warnings)
    steered = []
    for card in cards:
        near = places.near(card)
        wanted = list(_channels(card, near))
        wishes += wanted
        after = with_channels(card, wanted)
        if near.first:
            wishes += _interrupts(after, near)
            wishes += _queues(card, after, near)
            steered.append(after)
            warnings += _of_new_interrupts(card, after)
        wishes += _of_card(card)
    wishes += _flows(steered, {card.name: card.receive_queues for card in cards})
    wishes += _of_kernel(topology, bool(places.serving))
    return Wishes(wishes, warnings)


def with_channels(card: Card, wishes: Sequence[Wish]) -> Card:
    """Returns the card as it is when its channels are set."""
    for wish in wishes:
        if wish.setting.kind is Kind.CHANNELS and wish.setting.card == card.name:
            count = int(wish.value)
            if wish.setting.name in ("combined", "rx"):
                card = replace(card, receive_queues=count)
            if wish.setting.name in ("combined", "tx"):
                card = replace(card, send_queues=count)
    return card


@dataclass(frozen=True)
class _Near:
    """The processors that work for one card."""

    first: Sequence[int]
    """One of each core: two threads of a core handle interrupts no faster than one."""
    all: Sequence[int]
    """All on which threads that serve may run."""


class _Places:
    """The processors on which threads serve, and their memory nodes."""

    def __init__(self, topology: _core.Topology, plan: _core.Plan) -> None:
        self._topology = topology
        seats = [list(seat.processors) for seat in plan.placements if seat.role == _SERVE]
        building = {number for seat in plan.placements if seat.role == _BUILD for number in seat.processors}
        self.serving = sorted({number for seat in seats for number in seat})
        self.warnings: list[str] = []
        if not self.serving:
            self.warnings.append(
                "no thread that serves is pinned, so interrupts and queues are left where they are: pin the handlers "
                "(--pinning auto)"
            )
        elif any(not seat for seat in seats):
            self.warnings.append("some threads that serve may run anywhere: no interrupt is placed near them")
        if shared := building & set(self.serving):
            self.warnings.append(
                f"threads that build and serve share the processors {processors_text(shared)}: interrupts arrive there"
            )

    def near(self, card: Card) -> _Near:
        """Returns the processors that serve on the memory node of a card, or all that serve if none is there."""
        there = [each for each in self._topology.chiplets if each.numa_node == card.numa_node]
        numbers = {number for chiplet in there for core in chiplet.cores for number in core}
        chosen = [number for number in self.serving if number in numbers] or self.serving
        cores = [core for chiplet in self._topology.chiplets for core in chiplet.cores]
        firsts = (next((number for number in core if number in chosen), None) for core in cores)
        return _Near(sorted(number for number in firsts if number is not None), chosen)


def _channels(card: Card, near: _Near) -> Iterator[Wish]:
    if not near.first:
        return
    names = ("combined",) if "combined" in card.channels else ("rx", "tx")
    for name in names:
        if name in card.channels:
            wanted = min(card.channels[name].most, len(near.first))
            why = f"a queue for each core that serves ({len(near.first)}); the card has {card.channels[name].most}"
            yield Wish(Setting(Kind.CHANNELS, card.name, name), str(wanted), why, f"{_PAPER}; {_SCALING}")


def _interrupts(after: Card, near: _Near) -> Iterator[Wish]:
    for name in after.interrupts:
        queue = queue_of(name)
        if queue is not None and queue < max(after.receive_queues, after.send_queues):
            processor = near.first[queue % len(near.first)]
            why = "packets are handled on a core whose thread serves them"
            yield Wish(Setting(Kind.INTERRUPT, after.name, name), str(processor), why, f"{_PAPER}; {_SCALING}")


def _of_new_interrupts(card: Card, after: Card) -> Iterator[str]:
    more = max(after.receive_queues - card.receive_queues, after.send_queues - card.send_queues)
    if more > 0 and card.interrupts:
        yield f"{card.name}: the interrupts of {more} new queues have no names yet; --apply places them when they have"


def _queues(card: Card, after: Card, near: _Near) -> Iterator[Wish]:
    few = after.receive_queues < len(near.first)
    steered = processors_text(near.first) if few else NO_PROCESSORS
    why = (
        f"{after.receive_queues} queues spread packets over {len(near.first)} cores that serve"
        if few
        else "there is a queue for each core that serves, so the card spreads packets alone"
    )
    for queue in range(after.receive_queues):
        setting = Setting(Kind.QUEUE, card.name, f"rx-{queue}/rps_cpus")
        yield Wish(setting, steered, why, f"{_PAPER}; {_SCALING}", is_new=queue >= card.receive_queues)
    if after.send_queues > 1:  # with one queue there is nothing to choose
        for queue in range(after.send_queues):
            dealt = near.all[queue :: after.send_queues]
            if dealt:
                setting = Setting(Kind.QUEUE, card.name, f"tx-{queue}/xps_cpus")
                why = "each thread that serves sends through a queue that few others use"
                is_new = queue >= card.send_queues
                yield Wish(setting, processors_text(dealt), why, f"{_PAPER}; {_SCALING}", is_new=is_new)


def _flows(cards: Sequence[Card], now: Mapping[str, int]) -> Iterator[Wish]:
    """Packets of a connection go to the processor on which its thread reads: for all queues of all cards together.

    now: how many receive queues each card has before its channels are set."""
    steered = sum(card.receive_queues for card in cards)
    if steered == 0:
        return
    why = "packets of a connection go to the processor whose thread reads them"
    setting = Setting(Kind.SYSCTL, "", "net.core.rps_sock_flow_entries")
    yield Wish(setting, str(_FLOWS), why, f"{_PAPER}; {_SCALING}", Rule.AT_LEAST)
    for card in cards:
        for queue in range(card.receive_queues):
            setting = Setting(Kind.QUEUE, card.name, f"rx-{queue}/rps_flow_cnt")
            share = f"{why}: each of {steered} queues has a share of {_FLOWS} flows"
            is_new = queue >= now[card.name]
            yield Wish(setting, str(_FLOWS // steered), share, f"{_PAPER}; {_SCALING}", Rule.AT_LEAST, is_new)


def _of_card(card: Card) -> Iterator[Wish]:
    why = "fewer interrupts: answers of handlers are bulk data, for which 256 us of delay is little"
    for name, value in _COALESCE:
        yield Wish(Setting(Kind.COALESCE, card.name, name), str(value), why, _PAPER)
    if "rx" in card.rings:
        wanted = min(card.rings["rx"].most, 2 * _RECEIVE_FRAMES)
        why = f"{_RECEIVE_FRAMES} packets may come before an interrupt, and as many while it is handled"
        source = "follows from rx-frames"
        yield Wish(Setting(Kind.RING, card.name, "rx"), str(wanted), why, source, Rule.AT_LEAST)


def _of_kernel(topology: _core.Topology, is_pinned: bool) -> Iterator[Wish]:
    busy = "a processor that handles packets of many connections may go on for longer"
    for name, value in (("netdev_budget", 1200), ("netdev_budget_usecs", 8000)):
        yield Wish(Setting(Kind.SYSCTL, "", f"net.core.{name}"), str(value), busy, _PAPER, Rule.AT_LEAST)
    yield Wish(
        Setting(Kind.SYSCTL, "", "vm.percpu_pagelist_high_fraction"),
        "96",
        "each processor keeps more free pages, and asks the common list less often",
        _PAPER,
        Rule.IF_ZERO,
    )
    yield Wish(
        Setting(Kind.SYSCTL, "", "net.ipv4.tcp_rto_min_us"),
        str(_RETRANSMIT_US),
        "the end of an answer that a full switch has dropped is sent again sooner",
        "ip-sysctl.rst; SIGCOMM 2009, Vasudevan et al.; 64 handlers before one link: 4.0 to 19.1 MB/s",
        Rule.AT_MOST,
    )
    nodes = {chiplet.numa_node for chiplet in topology.chiplets}
    if is_pinned and len(nodes) > 1:
        yield Wish(
            Setting(Kind.SYSCTL, "", "kernel.numa_balancing"),
            "0",
            "threads and memory have their nodes already; looking for better ones costs page faults",
            "sysctl/kernel.rst",
        )
