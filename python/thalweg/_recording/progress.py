"""Shows the progress of a run on stderr: a live table if stderr is a terminal, else a sentence now and then."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from thalweg._base.quantities import as_bytes, as_duration, counted
from thalweg._base.stacked import Heading, StackedTable
from thalweg._base.stamps import stamped
from thalweg._recording import control
from thalweg._recording.counts import Channel
from thalweg._recording.snapshot import RecordingSnapshot

_KEYS = {
    "recording": "p: pause, Ctrl-C: stop",
    "paused": "p: continue, Ctrl-C: stop",
    "stopping": "writing the records that are still on board; Ctrl-C: abandon",
    "closing": "Ctrl-C: abandon",
}
_LEFT_OUT_FIRST = ("stored/raw", "buffers", "on board", "raw/s")  # the columns that a narrow terminal does not show
_STATES = {"paused": "yellow", "stopping": "yellow", "closing": "cyan"}


class View(Protocol):
    def show(self, snapshot: RecordingSnapshot) -> None: ...
    def close(self) -> None: ...


class RecordingProgress:
    """Shows snapshots of a run. If that fails, as on a closed terminal, the run goes on without progress."""

    def __init__(self, quiet: bool, interval_s: float = 1.0) -> None:
        self._quiet = quiet
        self._interval_s = interval_s
        self._view: View | None = None
        self.problem = ""  # why nothing is shown any more

    def say(self, sentence: str) -> None:
        if not self._quiet:
            self.tell(sentence)

    def tell(self, sentence: str) -> None:
        """Says what is no progress, also in a quiet run."""
        self._try(lambda: print(stamped(sentence), file=sys.stderr, flush=True))  # noqa: T201

    def say_starting(self) -> None:
        """Says on a terminal that the run is starting, since producers need a second to start."""
        if self._try(lambda: sys.stderr.isatty()):
            self.say("Starting ...")

    def show(self, snapshot: RecordingSnapshot) -> None:
        if not self._quiet:
            self._try(lambda: self._opened().show(snapshot))

    def _opened(self) -> View:
        self._view = self._view or (TableProgress() if sys.stderr.isatty() else LineProgress(self._interval_s))
        return self._view

    def close(self) -> None:
        if self._view:
            self._try(self._view.close)

    def _try(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Exception as error:  # a view of the run must not end the run
            self._quiet, self._view = True, None
            self.problem = f"the progress is not shown any more ({error}): the run goes on"
        return None


class LineProgress:
    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next_s = time.monotonic() + interval_s

    def show(self, snapshot: RecordingSnapshot) -> None:
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + self._interval_s
        print(stamped(progress_sentence(snapshot)), file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        pass


def progress_sentence(snapshot: RecordingSnapshot) -> str:
    total = snapshot.total
    parts = [
        f"{as_bytes(sum(snapshot.bytes_per_s.values()))}/s",
        counted(total.rows, "record"),
        f"stored/raw {ratio(total)}",
        f"buffers {total.queue_fill:.0%} full",
        f"durable lag {snapshot.durable_lag_s:.1f} s",
        f"dead time {total.dead_time_fraction:.1%}",
        f"{total.count('lost_triggers'):,} lost",
    ]
    if snapshot.until_full_s is not None:
        parts.append(f"disk full in {as_duration(snapshot.until_full_s)}")
    state = "" if snapshot.state == "recording" else f"{snapshot.state}; "
    return f"{as_duration(snapshot.elapsed_s)}: {state}{', '.join(parts)}"


class TableProgress:
    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, snapshot: RecordingSnapshot) -> None:
        self._live.update(progress_view(snapshot, *self._console.size), refresh=True)

    def close(self) -> None:
        self._live.stop()


def progress_view(snapshot: RecordingSnapshot, width: int, height: int) -> RenderableType:
    around = headline(snapshot), footline(snapshot)
    taken = sum(-(-text.cell_len // max(1, width)) + 1 for text in around)  # a line more, since words are not divided
    return Group(around[0], channel_table(snapshot, width, height - taken), around[1])


def headline(snapshot: RecordingSnapshot) -> Text:
    line = Text(snapshot.state.capitalize(), style=f"bold {_STATES.get(snapshot.state, 'green')}")
    line = Text.assemble(line, (f" {snapshot.file}", "bold"))
    limit = f" of {as_duration(snapshot.limit_s)}" if snapshot.limit_s else ""
    line.append(f"  {as_duration(snapshot.elapsed_s)}{limit}")
    processes = counted(snapshot.producers, "producer")
    line.append(f"  {processes}, {snapshot.engine}", style="dim")
    return line


def channel_table(snapshot: RecordingSnapshot, width: int, height: int) -> StackedTable:
    """Returns a table of as many channels as there is room for, and the sums of all. In a narrow terminal, columns are
    left out as long as a channel then has one line; if that does not help, it has several, with all columns."""
    others = 4  # the headings, the channels that are left out, the sums and the cursor
    most = max(1, height - others)
    for count in range(len(_LEFT_OUT_FIRST) + 1):
        table = _channel_table(snapshot, most, _LEFT_OUT_FIRST[:count])
        if table.lines_per_row(width) == 1:
            return table
    lines = _channel_table(snapshot, most).lines_per_row(width)
    return _channel_table(snapshot, max(1, height // lines - others))


def _channel_table(snapshot: RecordingSnapshot, most: int, left_out: Sequence[str] = ()) -> StackedTable:
    onboard = any(channel.count("onboard_limit_bytes") for channel in snapshot.channels.values())
    shown = list(snapshot.channels.items())
    rows = [
        progress_cells(channel, snapshot.rows_per_s.get(name, 0), snapshot.bytes_per_s.get(name, 0), onboard)
        for name, channel in shown[:most]
    ]
    sums = sum(snapshot.rows_per_s.values()), sum(snapshot.bytes_per_s.values())
    together = progress_cells(snapshot.total, *sums, onboard)
    names = [name for name in together if name not in left_out]
    table = StackedTable([Heading("channel"), *(Heading(name, is_number=True) for name in names)])
    for (channel, _), cells in zip(shown, rows, strict=False):
        table.add_row(channel, *(cells[name] for name in names))
    if hidden := len(shown[most:]):
        table.add_row(f"{hidden} more", style="dim")
    if len(shown) > 1:
        table.add_row("together", *(together[name] for name in names), style="bold")
    return table


def progress_cells(channel: Channel, rows_per_s: float, bytes_per_s: float, onboard: bool) -> dict[str, str | Text]:
    """Returns what a line of the table says, by the headings of its columns."""
    values: dict[str, str | Text] = {
        "records/s": f"{rows_per_s:,.0f}",
        "raw/s": f"{as_bytes(bytes_per_s)}/s",
        "records": f"{channel.rows:,}",
        "stored/raw": ratio(channel),
        "buffers": f"{channel.queue_fill:.0%}",
    }
    if onboard:
        alarm = "bold red" if channel.count("lost_triggers") else ""
        filled = channel.count("onboard_bytes") / max(1, channel.count("onboard_limit_bytes"))
        values["on board"] = f"{filled:.0%}"
        values["dead time"] = Text(f"{channel.dead_time_fraction:.2%}", style=alarm)
        values["lost"] = Text(f"{channel.count('lost_triggers'):,}", style=alarm)
    return values


def footline(snapshot: RecordingSnapshot) -> Text:
    until = snapshot.until_full_s
    space = "unknown" if snapshot.free_bytes is None else f"{as_bytes(snapshot.free_bytes)} free"
    if until is not None:
        space += f", full in {as_duration(until)}"
    keys = _KEYS[snapshot.state] if control.has_keys() else "Ctrl-C: stop"
    return Text(f"durable lag {snapshot.durable_lag_s:.1f} s   disk {space}   {keys}", style="dim")


def ratio(channel: Channel) -> str:
    return "-" if channel.stored_ratio is None else f"{channel.stored_ratio:.3f}"
