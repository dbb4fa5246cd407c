"""How a run is that another process writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg import _core
from thalweg._base.producer_status import ProducerStatus
from thalweg._base.quantities import counted
from thalweg._base.report import Report


@dataclass(frozen=True)
class WritingProducer(ProducerStatus):
    """A producer that has not ended, as another process sees it: its process may have died."""

    alive: bool = field(kw_only=True)
    """Whether its process lives. If it does not, the rows that it had appended are kept."""


@dataclass(frozen=True)
class TableStatus(Report):
    """The sums over all producers of one table, also those that have ended."""

    table: str
    rows: int
    """The number of rows that were appended since the run began or was resumed. Readers see those that are journaled:
    a little fewer."""
    alive: int
    """The number of producers whose processes live."""
    died: int
    """The number of producers whose processes have died without finishing them."""
    abandoned: int
    """The number of producers that ended with an exception."""
    waited: float
    """The time in seconds for which `append` has waited, the sum over the producers."""
    counters: dict[str, int] = field(default_factory=dict)
    """The sums of their counters, for example "lost_triggers". Times in nanoseconds have names that end with "_ns"."""

    @property
    def dead_time(self) -> float | None:
        """The fraction of the time in which the device took no triggers, or None if it does not count it."""
        dead_ns, live_ns = self.counters.get("dead_time_ns", 0), self.counters.get("live_time_ns", 0)
        return dead_ns / (dead_ns + live_ns) if dead_ns + live_ns else None


@dataclass(frozen=True)
class NodeFigures(Report):
    """What the memory of a run says, on the machine that writes it."""

    producers: tuple[WritingProducer, ...]
    """The producers that have not ended."""
    tables: tuple[TableStatus, ...]
    durable_lag: float
    """The age in seconds of the oldest data that a power cut would lose. Rows whose `append` returned before are safe.
    `units_not_durable` and `oldest_unit_age` do the same for rows of work units."""
    sync_time: float
    """The time in seconds that the last sync took."""
    pages: int
    claimed_bytes: int
    """The size of the file, as far as it is claimed."""
    journal_bytes: int
    units_committed: int
    units_not_durable: int
    """The number of committed work units that a power cut would undo."""
    oldest_unit_age: float
    """The time in seconds since the oldest of these was committed; 0 if there are none."""
    memory: str
    """The place of rows that are published and not written yet: /dev/shm, or another folder and the reason for it."""
    failure: str
    """Why the run takes no more rows; empty if it does."""
    names_without_room: int
    """The number of counters of ended producers that are not in `tables`: only 24 names of a table have room."""


@dataclass(frozen=True)
class NodeStatus(Report):
    """The state of a run on one of the machines that write it."""

    node: int
    """The number of the node, from 1."""
    host: str
    """The machine on which it is, or was, written."""
    state: str
    """As in `RunStatus`, but for closed."""
    why: str
    """The reason for "unknown"."""
    pid: int | None
    """The process that keeps the journal, or None if no such process lives, or if it cannot be told."""
    figures: NodeFigures | None
    """None if the memory of the run is not there any more, or cannot be seen from this process."""


@dataclass(frozen=True)
class RunStatus(Report):
    """The state of a run, as any process of its machine sees it. `print` shows it as sentences."""

    path: str
    state: str
    """One of:

    - written: a process on this machine writes the run.
    - closing: it is being completed.
    - left: all processes that wrote it have ended without closing it; `recover` completes it.
    - closed: it is complete, and no process writes it.
    - unknown: it cannot be told from here. `why` of the nodes says the reason.
    """
    nodes: tuple[NodeStatus, ...]
    """One for each node of the run, so one for most runs. Empty if the run is closed."""

    @property
    def figures(self) -> tuple[NodeFigures, ...]:
        """The figures of the nodes that have some."""
        return tuple(each.figures for each in self.nodes if each.figures is not None)

    @property
    def is_whole(self) -> bool:
        """Whether the figures of all nodes are known."""
        return bool(self.nodes) and len(self.figures) == len(self.nodes)

    @property
    def producers(self) -> tuple[WritingProducer, ...]:
        """The producers that have not ended, of all nodes whose figures are known."""
        return tuple(each for figures in self.figures for each in figures.producers)

    @property
    def tables(self) -> tuple[TableStatus, ...]:
        """The sums over all nodes whose figures are known."""
        return tuple(map(_together, zip(*(figures.tables for figures in self.figures), strict=True)))

    @property
    def rows(self) -> int | None:
        """The number of appended rows of all tables, or None if the figures of a node are not known."""
        return sum(each.rows for each in self.tables) if self.is_whole else None

    @property
    def durable_lag(self) -> float | None:
        """The largest durable lag of all nodes in seconds, or None if the figures of a node are not known."""
        return max(each.durable_lag for each in self.figures) if self.is_whole else None

    @property
    def failure(self) -> str:
        """Why the run takes no more rows; empty if it does, as far as is known."""
        return next((each.failure for each in self.figures if each.failure), "")

    def __str__(self) -> str:
        if self.state == "closed":
            return f"{self.path} is complete: no process writes it."
        several = len(self.nodes) > 1
        return "\n".join(line for node in self.nodes for line in _sentences(self.path, node, several))


def _sentences(path: str, node: NodeStatus, several: bool) -> list[str]:
    where = f"node {node.node} of {path}" if several else path
    by = f" (process {node.pid} keeps its journal)" if node.pid is not None else ""
    lines = {
        "written": f"{where} is being written{by}.",
        "closing": f"{where} is being completed{by}.",
        "left": f"No process writes {where} any more, and it is not closed: `thalweg recover` completes it.",
    }
    said = [lines.get(node.state, f"It is not known whether {where} is still written ({node.why}).")]
    if node.figures is None:
        return [*said, *(["Its figures are not known: its memory is gone."] if node.state in lines else [])]
    lag = f"A power cut would lose at most the last {node.figures.durable_lag:.1f} s"
    said.append(f"{counted(sum(each.rows for each in node.figures.tables), 'row')} appended. {lag}.")
    return [*said, *([node.figures.failure] if node.figures.failure else [])]


def run_status_of(reader: _core.Reader, tables: Sequence[str]) -> RunStatus:
    """Returns the status of the run of a reader, whose tables have these names."""
    status = _core.status_of(reader)
    nodes = tuple(NodeStatus.of(each, figures=_figures_of(each.figures, tables)) for each in status.nodes)
    return RunStatus(reader.path, "closed" if status.is_closed else _state_of_all(nodes), nodes)


def _state_of_all(nodes: Sequence[NodeStatus]) -> str:
    """Returns the state of a run of these nodes: it is left if all of them are, and written if one is."""
    states = {node.state for node in nodes}
    return next(state for state in ("written", "closing", "unknown", "left") if state in states)


def _figures_of(figures: _core.NodeFigures | None, names: Sequence[str]) -> NodeFigures | None:
    if figures is None:
        return None
    producers = tuple(
        WritingProducer.of(each.status, table=names[each.status.table], alive=each.is_alive, counters=each.status.named)
        for each in figures.producers
    )
    tables = tuple(
        _table_of(name, ended, [each for each in producers if each.table == name])
        for name, ended in zip(names, figures.ended, strict=True)
    )
    return NodeFigures.of(figures, producers=producers, tables=tables)


def _table_of(name: str, ended: _core.EndedProducers, producers: Sequence[WritingProducer]) -> TableStatus:
    return TableStatus(
        name,
        ended.rows + sum(each.rows for each in producers),
        sum(each.alive for each in producers),
        ended.died + sum(not each.alive and each.state != "finished" for each in producers),
        ended.abandoned,
        ended.waited + sum(each.waited for each in producers),
        _summed([ended.named, *(each.counters for each in producers)]),
    )


def _together(parts: Sequence[TableStatus]) -> TableStatus:
    return TableStatus(
        parts[0].table,
        sum(each.rows for each in parts),
        sum(each.alive for each in parts),
        sum(each.died for each in parts),
        sum(each.abandoned for each in parts),
        sum(each.waited for each in parts),
        _summed([each.counters for each in parts]),
    )


def _summed(counters: Sequence[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counters:
        for name, value in each.items():
            total[name] = total.get(name, 0) + value
    return total
