"""Settings of network cards that only ethtool's calls of the kernel have; pyroute2 makes them."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, Protocol

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._base.packages import needed
from thalweg._readout.network.settings import Kind, NotThere, Refused

_NAMES: Mapping[Kind, Mapping[str, str]] = {
    Kind.CHANNELS: {"combined": "combined_count", "rx": "rx_count", "tx": "tx_count"},
    Kind.RING: {"rx": "rx", "tx": "tx"},
    Kind.COALESCE: {
        "adaptive-rx": "use_adaptive_rx_coalesce",
        "adaptive-tx": "use_adaptive_tx_coalesce",
        "rx-usecs": "rx_coalesce_usecs",
        "rx-frames": "rx_max_coalesced_frames",
        "tx-usecs": "tx_coalesce_usecs",
        "tx-frames": "tx_max_coalesced_frames",
    },
}
_LIMITS: Mapping[Kind, Mapping[str, str]] = {
    Kind.CHANNELS: {"combined": "max_combined", "rx": "max_rx", "tx": "max_tx"},
    Kind.RING: {"rx": "rx_max", "tx": "tx_max"},
}
_HAS_NONE = (errno.EOPNOTSUPP, errno.ENODEV)


class Ethtool(Protocol):
    """The settings of cards by group, under the words of the program `ethtool`. A switch is 0 or 1."""

    def get(self, card: str, kind: Kind) -> dict[str, int]:
        """Returns the values of a group. Raises NotThere if the card has none, SystemError if it cannot be asked."""

    def limits(self, card: str, kind: Kind) -> dict[str, int]:
        """Returns the largest values of a group, as `get` does."""

    def set(self, card: str, kind: Kind, name: str, value: int) -> None:
        """Sets one value. Raises NotThere if the card has none, Refused if it does not take this one."""


class KernelEthtool:
    """The cards of this machine, in the network namespace of this process."""

    def __init__(self) -> None:
        with needed("network cards cannot be asked for their queues"):
            from pyroute2.ethtool import ioctl
        self._library: Any = ioctl
        self._calls = ioctl.IoctlEthtool()

    def get(self, card: str, kind: Kind) -> dict[str, int]:
        return self._named(self._asked(card, kind), _NAMES[kind])

    def limits(self, card: str, kind: Kind) -> dict[str, int]:
        return self._named(self._asked(card, kind), _LIMITS[kind])

    def set(self, card: str, kind: Kind, name: str, value: int) -> None:
        group = self._asked(card, kind)
        group[_NAMES[kind][name]] = value
        try:
            self._call(f"set_{_group(kind)}", group)
        except OSError as error:
            raise Refused(f"{error.strerror}") from None

    def _asked(self, card: str, kind: Kind) -> Any:
        self._calls.change_ifname(card)
        try:
            return self._call(f"get_{_group(kind)}")
        except OSError as error:
            text = f"cannot ask {card} for its {kind} ({error.strerror})"
            raise SystemError(error.errno or 0, text) from None

    def _call(self, name: str, *given: Any) -> Any:
        try:
            return getattr(self._calls, name)(*given)
        except self._library.NotSupportedError:
            raise NotThere("the card has no such setting") from None
        except self._library.NoSuchDevice:
            raise NotThere("there is no such interface") from None
        except OSError as error:
            if error.errno in _HAS_NONE:
                raise NotThere(f"{error.strerror}") from None
            raise

    @staticmethod
    def _named(group: Any, names: Mapping[str, str]) -> dict[str, int]:
        return {name: int(group[field]) for name, field in names.items()}


def _group(kind: Kind) -> str:
    return "rings" if kind is Kind.RING else str(kind)
