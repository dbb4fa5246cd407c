"""A program that `verify` starts. It reads all values that only h5py can read, and reports in lines of JSON.

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
from thalweg._others.hdf5_run import H5Run
from thalweg._others.hdf5_table import H5Table

# Limits of CPU time: for opening a file, which tries some rows of every column, and for one batch of rows.
_MOST_SECONDS_TO_OPEN = 60
_MOST_SECONDS = 15
_BATCH_ROWS = 10_000


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
    except DataError:  # h5py finds no table in it either
        run = None
    if not isinstance(run, H5Run):
        _say(nothing=True)
        return
    _say(problems=[(each.path, each.why) for each in run.problems])
    for table in run.values():
        if not isinstance(table, H5Table):
            continue
        for inner, column in table.by_h5py.items():
            name = f"table '{table.schema.name}', column '{inner}'" if inner else f"table '{table.schema.name}'"
            _say(begun=name)
            try:
                for _ in table.batches(inner or None, rows=_BATCH_ROWS):
                    _expect_progress()
            except DataError as error:
                _say(fault=f"{name}: {error}")
            _say(column=name, has_checksum=column.has_checksum)


if __name__ == "__main__":
    main(*sys.argv[1:])
