"""What `thalweg inspect` says of a run that is not complete: who writes it, and how it is."""

from collections import Counter
from collections.abc import Iterator

from thalweg._base.errors import Error
from thalweg._base.quantities import counted
from thalweg._reading.run import Run
from thalweg._reading.status import NodeFigures

_MOST_TABLES = 8
_STATES = {
    "written": "a run that is still open",
    "closing": "a run that is being completed",
    "closed": "a run that was completed meanwhile",
    "left": "a run that is not complete and that no process writes any more",
}


def open_state(run: Run) -> str:
    """Returns what a run is that is not complete, in a few words."""
    if not run.id:  # another program has written it
        return "still being written"
    try:
        state = run.status().state
    except Error:  # `status_sentences` says it
        state = "unknown"
    return _STATES.get(state, "a run that is not complete")


def status_sentences(run: Run, of_nodes: bool) -> Iterator[str]:
    try:
        status = run.status()
    except Error as error:  # as of another version of Thalweg
        yield f"It is not known whether it is still written ({error})."
        return
    alive = [each for each in status.producers if each.alive and each.state != "finished"]
    if alive:
        here = " (on this machine)" if of_nodes else ""
        yield "Being written by " + ", ".join(f"process {each.pid} ({each.table})" for each in alive) + here
    elif status.state in ("written", "closing"):
        yield "Its process is there, and no producer is."
    elif status.state == "left":
        yield f"No process writes it any more: `thalweg recover {run.path}` completes it with all published rows."
    elif of_nodes:
        yield "No process on this machine writes it now."
    elif status.state == "closed":
        yield "It was closed meanwhile: look again."
    else:
        yield f"It is not known whether it is still written ({status.nodes[0].why})."
    for figures in status.figures:
        yield from figure_sentences(figures)


def figure_sentences(figures: NodeFigures) -> Iterator[str]:
    rows = sum(table.rows for table in figures.tables)
    lag = f"a power cut would lose at most the last {figures.durable_lag:.1f} s"
    yield f"Its producers have appended {counted(rows, 'row')}; {lag}."
    sums: Counter[str] = Counter()
    for table in figures.tables:
        sums.update({name: count for name, count in table.counters.items() if not name.endswith("_ns")})
    dead = [f"{table.table} {table.dead_time:.2%}" for table in figures.tables if table.dead_time]
    if sums:
        yield "They have counted: " + ", ".join(f"{name} {count:,}" for name, count in sums.items())
    if dead:
        yield "Dead time: " + ", ".join(dead[:_MOST_TABLES]) + (", ..." if len(dead) > _MOST_TABLES else "")
    if figures.failure:
        yield figures.failure
    yield f"Rows that are published but not yet in the file are in {figures.memory}."
