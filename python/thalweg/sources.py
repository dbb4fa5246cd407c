"""What a class of yours has so that `thalweg record --source module:Class` records from it.

The class opens a device once, in a process of its own. `docs/sources.md` describes the calls and their deadlines.
"""

from collections.abc import Mapping
from typing import Any, Protocol


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
        """Returns "tables", as `tw.schema` takes them, and if needed "clock", "lanes" and "settings".

        "clock" is {"column": "timestamp", "restarts": True} if each `start` sets the clock of the card to 0. "lanes" is
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
