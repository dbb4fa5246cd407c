"""Counts what a run has so far, channel by channel."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg import _core

# What rises and falls: it is kept for a run that goes on, and not when it is over.
GAUGES = ("onboard_bytes", "onboard_limit_bytes")


@dataclass
class Channel:
    """The counters of one channel, summed over all files of the run."""

    rows: int = 0
    raw_bytes: int = 0
    paged_bytes: int = 0
    stored_bytes: int = 0
    queue_fill: float = 0.0  # used fraction of the memory of its producer
    counts: dict[str, int] = field(default_factory=dict)
    """What its device counts, by the names that the device gives, for example "lost_triggers"."""

    def count(self, name: str) -> int:
        """Returns what the device counts under this name, or 0 if it counts no such thing."""
        return self.counts.get(name, 0)

    @property
    def not_taken(self) -> int:
        """The number of triggers that a card has neither handed out nor lost. Only sources that say what is on board
        count triggers like that (thalweg/source/source.h); for others it is 0."""
        if not self.count("onboard_limit_bytes"):
            return 0
        return max(0, self.count("triggers") - self.count("lost_triggers") - self.rows)

    @property
    def stored_ratio(self) -> float | None:
        """Stored bytes divided by raw bytes of all pages, or None if there are no pages yet."""
        return self.stored_bytes / self.paged_bytes if self.paged_bytes else None

    @property
    def dead_time_fraction(self) -> float:
        total_ns = self.count("dead_time_ns") + self.count("live_time_ns")
        return self.count("dead_time_ns") / total_ns if total_ns else 0.0

    def counters(self) -> dict[str, Any]:
        """Returns the counters that are kept when the run is over."""
        kept = {"rows": self.rows, "raw_bytes": self.raw_bytes, "stored_bytes": self.stored_bytes}
        of_device = {name: value for name, value in self.counts.items() if name not in GAUGES}
        return kept | of_device | {"dead_time_fraction": self.dead_time_fraction}


Channels = dict[str, Channel]

_OF_FILE = ("rows", "raw_bytes", "paged_bytes", "stored_bytes")


def of_status(status: _core.CommitStatus, names: list[str]) -> Channels:
    """Returns the counters that the producers of one file report."""
    channels = {name: Channel() for name in names}
    for producer in status.producers:
        channel = channels[names[producer.table]]
        _add_counts(channel, producer)
        channel.queue_fill = max(channel.queue_fill, producer.staging_fill)
    for name, ended in zip(names, status.ended, strict=True):
        _add_counts(channels[name], ended)
    return channels


def _add_counts(channel: Channel, counted: _core.ProducerStatus | _core.EndedProducers) -> None:
    channel.rows += counted.rows
    channel.raw_bytes += _core.count(counted, _core.Count.appended_bytes)
    channel.paged_bytes += _core.count(counted, _core.Count.paged_bytes)
    channel.stored_bytes += _core.count(counted, _core.Count.stored_bytes)
    _add_named(channel, counted.named)


def _add_named(channel: Channel, named: Mapping[str, int]) -> None:
    for name, value in named.items():
        channel.counts[name] = channel.count(name) + value


def counted_together(files: Iterable[Channels], names: list[str]) -> Channels:
    """Returns the sums over the files of a run, which must be given in their order."""
    total = {name: Channel() for name in names}
    for channels in files:
        for name, more in channels.items():
            add(total[name], more)
    return total


def add(channel: Channel, more: Channel) -> None:
    for counted in _OF_FILE:
        setattr(channel, counted, getattr(channel, counted) + getattr(more, counted))
    if more.rows or any(more.counts.values()):  # otherwise its producer has not reached this file yet
        channel.queue_fill = more.queue_fill
        channel.counts |= more.counts


def total_of(channels: Iterable[Channel]) -> Channel:
    total = Channel()
    for channel in channels:
        for counted in _OF_FILE:
            setattr(total, counted, getattr(total, counted) + getattr(channel, counted))
        total.queue_fill = max(total.queue_fill, channel.queue_fill)
        _add_named(total, channel.counts)
    return total
