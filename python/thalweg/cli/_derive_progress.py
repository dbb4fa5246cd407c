"""Progress of a derivation job on stderr: a live table if stderr is a terminal, else one sentence a second."""

import sys
import time
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from thalweg._base.quantities import as_bytes, as_duration
from thalweg._base.stacked import Heading, StackedTable
from thalweg._derive.state import JobState

_EVERY_S = 1.0
_MOST_WORKERS = 32
_BAR_WIDTH = 40
_SHARE_WIDTH = 20


class DerivationProgress:
    """Shows the state of a job. If stderr is closed, the job goes on without progress."""

    def __init__(self, quiet: bool, events: int) -> None:
        self._quiet = quiet
        self._events = events
        self._next_s = time.monotonic() + _EVERY_S
        self._live: Live | None = None

    def show(self, state: JobState) -> None:
        if self._quiet or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        try:
            if not sys.stderr.isatty():
                print(job_sentence(state), file=sys.stderr, flush=True)
                return
            if self._live is None:
                self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(job_view(state), refresh=True)
        except OSError:
            self._quiet = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()


def job_sentence(state: JobState) -> str:
    parts = [
        f"{state.events_done:,} of {state.events:,} events",
        f"{state.events_per_s:,.0f} events/s",
        f"{len(state.workers)} worker{'s'[: len(state.workers) != 1]}",
        f"{state.waiting} ranges waiting",
        f"{as_bytes(state.output_bytes)} written",
    ]
    if state.failed:
        parts.append(f"{state.failed} failed")
    if state.seconds_left is not None and not state.stopping:
        parts.append(f"{as_duration(state.seconds_left)} left")
    stopping = f"stopping ({state.stopping}): " if state.stopping else ""
    return f"{as_duration(state.seconds)}: {stopping}{', '.join(parts)}"


def job_view(state: JobState) -> RenderableType:
    done = round(_BAR_WIDTH * min(1.0, state.events_done / max(1, state.events)))
    bar = Text.assemble(("━" * done, "bold"), ("━" * (_BAR_WIDTH - done), "dim"))
    names = ("worker", "events", "share", "range", "for", "CPU", "memory")
    table = StackedTable([Heading(name, is_number=name != "share") for name in names])
    most = max((each.events for each in state.workers), default=0)
    for each in state.workers[:_MOST_WORKERS]:
        table.add_row(
            str(each.pid),
            f"{each.events:,}",
            "━" * round(_SHARE_WIDTH * each.events / max(1, most)),
            f"{each.doing:,} events" if each.doing else "waiting",
            as_duration(each.since) if each.doing else "",
            as_duration(each.cpu),
            as_bytes(each.pss),
        )
    if (hidden := len(state.workers) - _MOST_WORKERS) > 0:
        table.add_row(f"{hidden} more", style="dim")
    keys = Text("Ctrl-C: finish these ranges and stop; twice: stop at once", style="dim")
    return Group(Text(job_sentence(state)), bar, table, keys)
