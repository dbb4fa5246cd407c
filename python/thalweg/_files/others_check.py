"""A program that `verify` starts. It reads all values that only h5py or uproot can read, and reports in lines of JSON.

It may crash, or be killed because it takes too long. Lines that it has written by then count.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any

from thalweg._base.errors import DataError
from thalweg._files.open import open as open_run
from thalweg._reading.stored_run import StoredRun
from thalweg._reading.table import Table

# Limits of CPU time: for opening a file, which tries some rows of every column, and for one batch of rows.
_MOST_SECONDS_TO_OPEN = 60
_MOST_SECONDS = 15
_H5PY_ROWS, _UPROOT_ROWS = 10_000, 1_000_000  # of a batch: uproot decodes a whole basket for any of its rows


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _expect_progress(seconds: int = _MOST_SECONDS) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)  # the signal ends the process, even inside libhdf5


def main(path: str, *external: str) -> None:
    """Reports `nothing`, or `problems`, and then for each column `begun`, its `fault`s, and `column` once it is
    done."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _expect_progress(_MOST_SECONDS_TO_OPEN)
    try:
        run = open_run(path, external=external)
    except DataError:  # these libraries find no table in it either
        run = None
    if run is None or type(run) is StoredRun:
        _say(nothing=True)
        return
    _say(problems=[(each.path, each.why) for each in run.problems])
    for table in run.values():
        for path, column in table.by_h5py.items():
            name = _named(table, path)
            _read(name, table, path, _H5PY_ROWS)
            _say(column=name, reader="h5py", has_checksum=column.has_checksum)
        for field in table.by_uproot:
            name = _named(table, field)
            _read(name, table, field, _UPROOT_ROWS)
            _say(column=name, reader="uproot")


def _named(table: Table, path: str) -> str:
    return f"table '{table.name}', column '{path}'" if path else f"table '{table.name}'"


def _read(name: str, table: Table, path: str, rows: int) -> None:
    _say(begun=name)
    try:
        for _ in table.batches(path or None, rows=rows):
            _expect_progress()
    except DataError as error:
        _say(fault=f"{name}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
