"""Runs that are not closed: completed after their processes have died, or copied while they go on."""

from __future__ import annotations

import os

from thalweg import _core
from thalweg._base.paths import Path
from thalweg._writing.reports import RunReport, Snapshot, report_of, snapshot_of


def recover(path: Path, *, all_nodes_are_down: bool = False) -> RunReport:
    """Completes a run whose processes have died, or that was abandoned, and says what is lost.

    all_nodes_are_down: of a run of several nodes, that nobody writes it any more: this machine cannot know of others.

    It can be repeated after any interruption. Ctrl-C is heard when it is over.

    Raises UsageError where there is nothing to recover or the run is, or may be, still being written, DataError where
    file and journal do not belong together.
    """

    return report_of(_core.recover(os.fspath(path), all_nodes_are_down))


def snapshot(path: Path, out: Path, *, force: bool = False) -> Snapshot:
    """Writes what a running recording has so far into `out`, an ordinary, complete file, and says what it left out.

    The recording is not disturbed. `out` has its name only when it is complete. Rows are counted as `recover` counts
    them; what came in since the last flush may be missing. Raises UsageError where nobody writes a run at `path`, or
    where `out` exists (unless `force`).
    """

    return snapshot_of(os.fspath(path), _core.snapshot(os.fspath(path), os.fspath(out), force))
