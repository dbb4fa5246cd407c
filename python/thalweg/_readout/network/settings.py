"""What can be set: values of the kernel, files of queues, interrupts, and what a card takes through ethtool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from thalweg._base import processors
from thalweg._base.errors import DataError

NO_PROCESSORS = "none"


class Kind(StrEnum):
    """The place of a setting. The values are those in a journal."""

    SYSCTL = "sysctl"
    """A file below /proc/sys."""
    QUEUE = "queue"
    """A file of a queue in sysfs."""
    INTERRUPT = "interrupt"
    """On which processors an interrupt may arrive."""
    CHANNELS = "channels"
    RING = "ring"
    COALESCE = "coalesce"


OF_ETHTOOL = (Kind.CHANNELS, Kind.RING, Kind.COALESCE)


class NotThere(Exception):  # noqa: N818 (it is an answer)
    """Raised if the machine has no such setting. The message says why."""


class Refused(Exception):  # noqa: N818
    """Raised if the machine does not take a value. The message is its reason."""


@dataclass(frozen=True, order=True)
class Setting:
    kind: Kind
    card: str
    """The interface to which it belongs; empty for the whole machine."""
    name: str
    """Such as "net.core.netdev_budget", "rx-0/rps_cpus", the name of an interrupt, or a word of ethtool."""

    @property
    def what(self) -> str:
        """Returns the name of the setting for people."""
        where = {Kind.SYSCTL: "", Kind.QUEUE: f"{self.card} "}.get(self.kind, f"{self.card} {self.kind} ")
        return f"{where}{self.name}"

    @property
    def has_processors(self) -> bool:
        """Returns whether the value names processors (or queues), such as "0-3,8"."""
        return self.kind is Kind.INTERRUPT or self.name.endswith(("_cpus", "_rxqs"))

    @property
    def has_mask(self) -> bool:
        """Returns whether the kernel writes the processors as a mask."""
        return self.has_processors and self.kind is Kind.QUEUE


def processors_text(numbers: Iterable[int]) -> str:
    """Returns processors as text, such as "0-3,8"; "none" if there are none."""
    return processors.processors_text(numbers) or NO_PROCESSORS


def processors_of(text: str) -> list[int]:
    """Returns the processors of such a text. Raises DataError if it is none."""
    stripped = text.strip()
    return [] if stripped == NO_PROCESSORS else processors.processors_of(stripped)


def mask_of(text: str) -> str:
    """Returns the processors of a text as a mask, as the kernel writes it: 32 bits in a group, the lowest last."""
    value = sum(1 << number for number in set(processors_of(text)))
    groups = [value & 0xFFFFFFFF]
    while value := value >> 32:
        groups.append(value & 0xFFFFFFFF)
    first, *rest = reversed(groups)
    return ",".join([f"{first:x}", *(f"{group:08x}" for group in rest)])


def text_of_mask(mask: str) -> str:
    """Returns the processors of a mask as text. Raises DataError if it is no mask."""
    try:
        value = int(mask.strip().replace(",", ""), 16)
    except ValueError:
        raise DataError(f"'{mask.strip()}' is not a mask of processors") from None
    return processors_text(number for number in range(value.bit_length()) if value >> number & 1)
