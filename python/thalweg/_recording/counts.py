"""Counts what a run has so far, channel by channel."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from thalweg import _core


@dataclass
class Channel:
    """The counters of one channel, summed over all files of the run."""

    rows: int = 0
    raw_bytes: int = 0
    paged_bytes: int = 0
    stored_bytes: int = 0
    triggers: int = 0
    lost_triggers: int = 0
    dead_time_ns: int = 0
    live_time_ns: int = 0
    onboard_bytes: int = 0
    onboard_limit_bytes: int = 0
    queue_fill: float = 0.0  # used fraction of the memory of its producer

    @property
    def stored_ratio(self) -> float | None:
        """Stored bytes divided by raw bytes of all pages, or None if there are no pages yet."""
        return self.stored_bytes / self.paged_bytes if self.paged_bytes else None

    @property
    def dead_time_fraction(self) -> float:
        total_ns = self.dead_time_ns + self.live_time_ns
        return self.dead_time_ns / total_ns if total_ns else 0.0

    def counters(self) -> dict[str, Any]:
        """Returns the counters that are kept when the run is over."""
        kept = {key: value for key, value in asdict(self).items() if not key.startswith(("onboard", "paged", "queue"))}
        return kept | {"dead_time_fraction": self.dead_time_fraction}


Channels = dict[str, Channel]

_OF_SOURCE = ("triggers", "lost_triggers", "dead_time_ns", "live_time_ns", "onboard_bytes", "onboard_limit_bytes")


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
    for name in _OF_SOURCE:
        setattr(channel, name, getattr(channel, name) + counted.named.get(name, 0))


def counted_together(files: Iterable[Channels], names: list[str]) -> Channels:
    """Returns the sums over the files of a run, which must be given in their order."""
    total = {name: Channel() for name in names}
    for channels in files:
        for name, more in channels.items():
            add(total[name], more)
    return total


def add(channel: Channel, more: Channel) -> None:
    for counted in ("rows", "raw_bytes", "paged_bytes", "stored_bytes"):
        setattr(channel, counted, getattr(channel, counted) + getattr(more, counted))
    if more.rows or more.triggers:  # otherwise its producer has not reached this file yet
        channel.queue_fill = more.queue_fill
        for counted in _OF_SOURCE:
            setattr(channel, counted, getattr(more, counted))


def total_of(channels: Iterable[Channel]) -> Channel:
    total = Channel()
    for channel in channels:
        for field in fields(Channel):
            name = field.name
            value = getattr(channel, name)
            setattr(total, name, max(total.queue_fill, value) if name == "queue_fill" else getattr(total, name) + value)
    return total
