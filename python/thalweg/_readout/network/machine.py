"""Reads and writes settings: sysfs, procfs, and ethtool's calls. What cannot be read is an error, never a default."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.suggestion import suggestion
from thalweg._readout.network.cards import Card, Count, queue_of
from thalweg._readout.network.ethtool import Ethtool, KernelEthtool
from thalweg._readout.network.settings import (
    NO_PROCESSORS,
    OF_ETHTOOL,
    Kind,
    NotThere,
    Refused,
    Setting,
    mask_of,
    text_of_mask,
)

_CARDS = "sys/class/net"
_INTERRUPTS = "proc/irq"
_AFFINITY = "smp_affinity_list"


class Machine:
    """The settings of a machine. `root` is another folder in tests, with the files of sysfs and procfs below it."""

    def __init__(self, root: Path = Path("/"), ethtool: Ethtool | None = None) -> None:
        self.root = root
        self._is_real = root == Path("/")
        self._ethtool = ethtool or KernelEthtool()

    def read(self, setting: Setting) -> str:
        """Returns the value of a setting: a number, or processors such as "0-3".

        Raises NotThere if this machine has no such setting, and SystemError if it cannot be read."""
        if setting.kind in OF_ETHTOOL:
            return str(self._ethtool.get(setting.card, setting.kind)[setting.name])
        text = self._text(self._path(setting))
        if setting.has_mask:
            return text_of_mask(text)
        return text or NO_PROCESSORS if setting.has_processors else text

    def write(self, setting: Setting, value: str) -> None:
        """Sets a value. Raises NotThere if this machine has no such setting, Refused if it does not take the value."""
        if setting.kind in OF_ETHTOOL:
            self._ethtool.set(setting.card, setting.kind, setting.name, int(value))
            return
        if setting.has_mask:
            value = mask_of(value)
        path = self._path(setting)
        if not path.exists():  # writing must not make it
            raise NotThere("there is no such file")
        try:
            path.write_text(f"{value}\n")  # by one call, as the kernel takes each call for a value
        except OSError as error:
            raise Refused(f"{error.strerror}") from None

    def card(self, name: str) -> Card:
        """Returns what an interface has and can do. Raises UsageError if there is none of that name."""
        folder = self.root / _CARDS / name
        known = self.cards()
        if name not in known:
            raise UsageError(f"there is no interface '{name}'{suggestion(name, known)}")
        queues = [each.name for each in self._inside(folder / "queues")]
        return Card(
            name=name,
            index=self._index(folder, name),
            receive_queues=sum(queue.startswith("rx-") for queue in queues),
            send_queues=sum(queue.startswith("tx-") for queue in queues),
            numa_node=self._node(folder),
            interrupts=self._of_queues(name),
            channels=self._counts(name, Kind.CHANNELS),
            rings=self._counts(name, Kind.RING),
        )

    def index_of(self, name: str) -> int:
        """Returns the number of an interface. Raises NotThere if there is none of that name."""
        if name not in self.cards():
            raise NotThere("there is no such interface any more")
        return self._index(self.root / _CARDS / name, name)

    def cards(self) -> list[str]:
        """Returns the names of all interfaces."""
        return sorted(each.name for each in self._inside(self.root / _CARDS) if each.is_dir())

    def settings_of(self, card: Card) -> Iterator[Setting]:
        """Yields all settings of an interface that may be lost when the number of its channels is changed."""
        for queue in range(card.receive_queues):
            for file in ("rps_cpus", "rps_flow_cnt"):
                yield Setting(Kind.QUEUE, card.name, f"rx-{queue}/{file}")
        for queue in range(card.send_queues):
            for file in ("xps_cpus", "xps_rxqs"):
                yield Setting(Kind.QUEUE, card.name, f"tx-{queue}/{file}")
        for name in card.interrupts:
            yield Setting(Kind.INTERRUPT, card.name, name)
        for kind in (Kind.RING, Kind.COALESCE):
            try:
                names = list(self._ethtool.get(card.name, kind))
            except NotThere:
                names = []
            yield from (Setting(kind, card.name, name) for name in names)

    def programs(self, names: tuple[str, ...]) -> Mapping[str, int]:
        """Returns those of the named programs that run, each with the number of one of its processes."""
        found = {}
        for folder in self._inside(self.root / "proc"):
            if folder.name.isdigit():
                try:
                    name = self._text(folder / "comm")
                except NotThere:
                    continue  # it has ended
                if name in names:
                    found[name] = int(folder.name)
        return found

    def boot(self) -> str:
        """Returns what tells one boot of the machine from another."""
        return self._known("proc/sys/kernel/random/boot_id")

    def namespace(self) -> int:
        """Returns the number of the network namespace of this process; 0 if the root is another folder."""
        if not self._is_real:
            return 0
        try:
            return os.stat("/proc/self/ns/net").st_ino
        except OSError as error:
            text = f"cannot say in which network namespace this is ({error.strerror})"
            raise SystemError(error.errno or 0, text) from None

    def _known(self, name: str) -> str:
        try:
            return self._text(self.root / name)
        except NotThere as why:
            raise SystemError(errno.ENOENT, f"cannot read /{name} ({why})") from None

    def _path(self, setting: Setting) -> Path:
        if setting.kind is Kind.SYSCTL:
            return self.root / "proc/sys" / setting.name.replace(".", "/")
        if setting.kind is Kind.QUEUE:
            return self.root / _CARDS / setting.card / "queues" / setting.name
        number = self._numbers(setting.card).get(setting.name)
        if number is None:
            raise NotThere(f"{setting.card} has no such interrupt")
        return self.root / _INTERRUPTS / number / _AFFINITY

    def _text(self, path: Path) -> str:
        try:
            return path.read_text().strip()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ESRCH, errno.EOPNOTSUPP):
                raise NotThere("this kernel, namespace or card has no such setting") from None
            raise SystemError(error.errno or 0, f"cannot read {path} ({error.strerror})") from None

    def _inside(self, folder: Path) -> list[Path]:
        try:
            return list(folder.iterdir())
        except OSError as error:
            raise SystemError(error.errno or 0, f"cannot read {folder} ({error.strerror})") from None

    def _index(self, folder: Path, name: str) -> int:
        """Returns the number of an interface. Raises SystemError if sysfs shows those of another namespace."""
        index = int(self._known(str((folder / "ifindex").relative_to(self.root))))
        if self._is_real and {name: number for number, name in socket.if_nameindex()}.get(name) != index:
            raise SystemError(
                errno.ENODEV,
                f"{folder} is an interface of another network namespace (sysfs was mounted there): mount sysfs in this "
                "one, or enter it by `ip netns exec`",
            )
        return index

    def _node(self, folder: Path) -> int | None:
        try:
            node = int(self._text(folder / "device" / "numa_node"))
        except NotThere:
            return None
        return node if node >= 0 else None

    def _of_queues(self, card: str) -> tuple[str, ...]:
        names = [name for name in self._numbers(card) if queue_of(name) is not None]
        return tuple(sorted(names, key=lambda name: (queue_of(name), name)))

    def _numbers(self, card: str) -> dict[str, str]:
        """Returns the interrupts of a card: name → number. Those of a virtio card belong to the device above it."""
        device = self.root / _CARDS / card / "device"
        found = {}
        for folder in (device / "msi_irqs", device / ".." / "msi_irqs"):
            numbers = self._inside(folder) if device.exists() and folder.exists() else []
            for number in numbers:
                for each in self._inside(self.root / _INTERRUPTS / number.name):
                    if each.is_dir():  # one for each program part that has asked for the interrupt
                        found[each.name] = number.name
        return found

    def _counts(self, card: str, kind: Kind) -> dict[str, Count]:
        try:
            now, most = self._ethtool.get(card, kind), self._ethtool.limits(card, kind)
        except NotThere:
            return {}
        return {name: Count(now[name], most[name]) for name in now if most[name] > 0}
