"""When the rows of each table came, and which devices ended by themselves while the run went on."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg import _core


@dataclass
class Arrival:
    """What was seen of one table in the current file. Times are in seconds after the start of the run."""

    first_rows: int = 0
    first_s: float = 0.0
    rows: int = 0
    last_s: float = 0.0
    has_ended: bool = False

    def see(self, rows: int, elapsed_s: float, *, is_over: bool) -> None:
        """is_over: the run is. What a device still hands out then counts only if there were no two looks with rows
        before."""
        if rows < self.rows:  # the next file of the run
            self.first_rows = self.rows = 0
        if rows == self.rows or (is_over and self.rows > self.first_rows):
            return
        if not self.first_rows:
            self.first_rows, self.first_s = rows, elapsed_s
        self.rows, self.last_s = rows, elapsed_s

    @property
    def rows_per_s(self) -> float:
        """The rate between the first rows and the last ones: what lies before and after is opening and stopping. If all
        came at once, it is the rate since the start."""
        if self.rows > self.first_rows:
            return (self.rows - self.first_rows) / (self.last_s - self.first_s)
        return self.rows / max(self.last_s, 1e-9)


class Arrivals:
    """Call `look` often: it cannot know more exactly when something was."""

    def __init__(self) -> None:
        self.tables: dict[str, Arrival] = {}

    def look(self, status: _core.CommitStatus, names: Sequence[str], elapsed_s: float, *, is_over: bool) -> None:
        """Sees what has come in the current file. A table has ended if all its producers have, before the
        run is over."""
        live = {producer.table for producer in status.producers}
        for table, (name, ended) in enumerate(zip(names, status.ended, strict=True)):
            rows = ended.rows + sum(producer.rows for producer in status.producers if producer.table == table)
            arrival = self.tables.setdefault(name, Arrival())
            arrival.see(rows, elapsed_s, is_over=is_over)
            if table in live:
                arrival.has_ended = False  # its device was opened again
            elif ended.rows and not is_over:
                arrival.has_ended = True
