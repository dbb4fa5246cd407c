"""What a network card has and can do: the facts from which its settings are planned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# eth0-TxRx-3, ens1f0-rx-2, mlx5_comp4@pci:0000:41:00.0, virtio2-input.0, gve-ntfy-block.1@pci:...: with a number. What
# has none, or another word (mlx5_async0, virtio2-config), reports events of the card and no packets.
_OF_A_QUEUE = re.compile(r"(?:tx-?rx|rx|tx|in|out|input|output|comp|fp|queue|ntfy-block)[-_.]?(\d+)(?:@.*)?$", re.I)


@dataclass(frozen=True)
class Count:
    """How many channels, or places of a ring, are in use, and how many there can be."""

    now: int
    most: int


@dataclass(frozen=True)
class Card:
    """A network interface, as sysfs and ethtool describe it."""

    name: str
    index: int
    """The number of the interface. One that is made anew under the same name has another."""
    receive_queues: int
    send_queues: int
    numa_node: int | None = None
    """None if the interface has no device, or its node is not known."""
    interrupts: tuple[str, ...] = ()
    """The names of its interrupts that belong to queues, by the number of the queue."""
    channels: Mapping[str, Count] = field(default_factory=dict)
    """By "combined", "rx", "tx"; empty if the card does not let them be set."""
    rings: Mapping[str, Count] = field(default_factory=dict)
    """By "rx", "tx"; empty if the card does not let them be set."""


def queue_of(interrupt: str) -> int | None:
    """Returns the number of the queue to which an interrupt belongs, by its name; None if it belongs to none."""
    found = _OF_A_QUEUE.search(interrupt)
    return int(found[1]) if found else None
