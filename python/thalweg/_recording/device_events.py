"""The table of a run that says what happened to its devices, and when."""

import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import Any

from thalweg import _core
from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._base.quantities import counted
from thalweg._schema.schema import Schema, schema
from thalweg._schema.types import int64, optional, string, uint64
from thalweg._writing.producer import Producer

TABLE = "device_events"
_ROW = {
    "device": string(description="name of the device"),
    "event": string(description="opened, started, overflow, lost, reopened or stopped"),
    "utc": int64(unit="ns", description="clock of the host, since 1970"),
    "monotonic": uint64(unit="ns", description="monotonic clock of the host"),
    "unit": string(description="unit of the clock of the device, in which the next five are"),
    "card": optional(int64(description="what the clock of the card showed, if it says it")),
    "from": optional(int64(description="timestamp of the last record before, as the file has it")),
    "until": optional(int64(description="timestamp of the first record after: the device took none between them")),
    "offset": optional(int64(description="what is added to the clock of the card from here on")),
    "uncertainty": optional(int64(description="by which the offset may be wrong")),
    "lost_triggers": optional(uint64(description="number of lost triggers, if the device knows it")),
    "text": string(description="what happened, in words"),
}
_OF_CLOCK = ("card", "from", "until", "offset", "uncertainty", "lost_triggers")


def with_events(of_devices: str) -> str:
    """Returns the schema of a run, as JSON, with this table behind those of its devices."""
    stored = json.loads(of_devices)
    stored["tables"] += json.loads(schema({TABLE: _ROW}).to_json())["tables"]
    return json.dumps(stored)


def now() -> dict[str, int]:
    """Returns the clocks of the host."""
    return {"utc_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns()}


@dataclass(frozen=True)
class Happening:
    """One row. `more` has its times, and what is known of the clocks."""

    device: str
    event: str
    text: str = ""
    unit: str = ""
    more: dict[str, Any] = field(default_factory=now)

    def row(self) -> dict[str, Any]:
        """Returns the row of the table."""
        own = {"device": self.device, "event": self.event, "text": self.text, "unit": self.unit}
        clocks = {"utc": self.more["utc_ns"], "monotonic": self.more["monotonic_ns"]}
        return own | clocks | {name: self.more.get(name) for name in _OF_CLOCK}


class DeviceEvents:
    """Keeps what happens until there is a file, and appends it to the run from then on."""

    def __init__(self) -> None:
        self._waiting: list[Happening] = []
        self._producer: Producer | None = None

    def add(self, happening: Happening) -> None:
        self._waiting.append(happening)
        self.follow()

    def begin(self, writer: _core.Writer, table: str) -> None:
        """Appends to this run from now on, also in the files in which it is continued."""
        self._producer = Producer(writer.producer(table), Schema.from_json(writer.schema), table)
        self.follow()

    def follow(self) -> None:
        """Appends what waits, and goes on in the next file if there is one: the earlier file waits for that."""
        if self._producer is None:
            return
        with contextlib.suppress(SystemError):  # a full disk: they are appended when it has room, and the run says it
            while self._waiting:
                self._producer.append(self._waiting[0].row())
                del self._waiting[0]
            self._producer.follow_rotation()
            self._producer.idle()

    def finish(self) -> str:
        """Ends the table. Returns what is not in it, or an empty text."""
        if self._producer is None:
            return ""
        self.follow()
        self._producer.finish()
        self._producer = None
        left = len(self._waiting)
        return f"{counted(left, 'event')} of devices could not be written to table {TABLE}" if left else ""
