"""What a class of yours has so that `thalweg record --source module:Class` records from it.

The class opens a device once, in a process of its own. `docs/sources.md` describes the calls and their deadlines. A
source in C includes `thalweg/source.h` instead, which lies in `include_dir()`.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


def include_dir() -> str:
    """Returns the folder in which a C compiler finds `thalweg/source.h` and, for the phases of a trace, `region.h`."""
    return str(Path(__file__).with_name("include"))


class DeviceLost(Exception):  # noqa: N818 - it says what has happened
    """Raise this if the device does not answer any more. The recorder ends the process and opens the device again."""


class Overflow(Exception):  # noqa: N818
    """Raise this in `next` if the device stopped because its memory was full, after its last records are handed out.

    The recorder then calls `stop` and `start`, and notes the dead time: from the last record to the first one after it.
    """

    def __init__(self, text: str = "", *, lost: int | None = None) -> None:
        """lost: the number of triggers that were lost, if the device knows it."""
        super().__init__(text)
        self.lost = lost


class Source(Protocol):
    """The calls of a source. The keyword arguments of its constructor, which opens the device, are its settings.

    Optional are `pause()`, after which `start` continues, `close()`, and `counters()`, which returns numbers that only
    grow, by their names or by table: {"lost_triggers": 3} or {"ch0": {"lost_triggers": 3}}.
    """

    def describe(self) -> Mapping[str, Any]:
        """Returns "tables", as `tw.schema` takes them, and if needed "clock", "lanes", "settings" and "notes".

        "clock" is {"column": "timestamp", "restarts": True} if each `start` sets the clock of the card to 0, and has
        "marker": True if `start` returns what it showed at a marker that other cards see, too. "lanes" is
        a list of lists of tables: a thread for each of them calls `next(timeout, lane)`. "settings" are the settings as
        the card took them.
        """
        ...

    def start(self) -> int | None:
        """Lets the device take triggers. It may return what the clock of the card shows then."""
        ...

    def next(self, timeout: float) -> Mapping[str, Mapping[str, Any]] | None:
        """Returns rows as {table: {column: array}}, or None if there are none within `timeout` seconds.

        It raises `Overflow` or `DeviceLost`, and StopIteration if no more rows will come.
        """
        ...

    def stop(self) -> None:
        """Lets the device take no more triggers. `next` is called until it returns None, and not again."""
        ...


GAP = 3
"""The severity of a row that says that there is no value from here on. Smaller ones are alarms, as in EPICS."""


@dataclass(frozen=True)
class Reading:
    """A value of a slow instrument. `severity`: 0 (no alarm), 1 (minor), 2 (major), or GAP."""

    value: float
    severity: int = 0
    utc_ns: int = field(default_factory=time.time_ns)
    monotonic_ns: int = field(default_factory=time.monotonic_ns)


Given = float | Reading | None
"""What a slow instrument gives for a channel. None is a gap."""


class SlowInstrument(Protocol):
    """The calls of a device with `kind = "slow"`: it has `units`, `read` or `changes`, and if needed `close`.

    Whatever any of them raises is a gap: the recorder closes the instrument, and makes it again until it answers.
    """

    def units(self) -> Mapping[str, str]:
        """Returns the channels and their units: {"stage": "K"}. Each becomes a table."""
        ...

    def read(self) -> Mapping[str, Given]:
        """Returns all values now. It is called once a second, or as often as `every` of the device says."""
        ...

    def changes(self, timeout: float) -> Iterable[tuple[str, Given]]:
        """Returns the values that have come since the last call, and waits `timeout` seconds for the first one.

        It stands instead of `read`, for an instrument that says itself when a value has changed.
        """
        ...
