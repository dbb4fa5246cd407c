"""Completes runs whose processes have ended, and copies runs that are being written."""

from __future__ import annotations

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.given import path_of
from thalweg._base.paths import Path
from thalweg._files.open import open as open_run
from thalweg._writing.reports import RunReport, Snapshot, report_of, snapshot_of


def recover(path: Path, *, all_nodes_are_down: bool = False) -> RunReport:
    """Completes the file of a run that was abandoned or whose processes have died. The report says what is lost.

    all_nodes_are_down: confirms that no machine writes the run any more. Runs of several nodes need it, since this
        machine cannot check the others.

    If it is interrupted, it can be repeated. Ctrl-C has an effect only after it has ended.

    Raises UsageError if there is nothing to recover, or if the run is, or may be, still being written; DataError if the
    file and its journal do not belong together.
    """
    name = path_of(path)
    try:
        return report_of(_core.recover(name, bool(all_nodes_are_down)))
    except UsageError:
        if (pid := _writer_of(name)) is None:
            raise
        raise UsageError(
            f"there is nothing to recover of {name} (it is still being written by process {pid}, which completes it at "
            "its end): wait for that; only if this process hangs, end it and recover then"
        ) from None


def _writer_of(name: str) -> int | None:
    """Returns the process on this machine that writes the run, or None if there is none, or if it is not known."""
    try:
        with open_run(name) as run:
            states = run.status().nodes if run.is_open and run.id else ()
    except Error:
        return None
    return next((node.pid for node in states if node.state in ("written", "closing") and node.pid is not None), None)


def snapshot(path: Path, out: Path, *, force: bool = False) -> Snapshot:
    """Copies what a running recording has so far to `out`, an ordinary, complete file. The report says what it lacks.

    The recording is not disturbed. `out` gets its name only once it is complete. Rows appended since the last flush may
    be missing.

    force: replace `out` if it exists.

    Raises UsageError if `path` is not a run that is being written, or if `out` exists.
    """
    source = path_of(path)
    return snapshot_of(source, _core.snapshot(source, path_of(out), bool(force)))
