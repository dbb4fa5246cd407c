"""A program that `verify` starts: reads all values that only h5py reads, and says so in lines of JSON.

It may crash, or be ended because it comes to no end: what was said before is true.
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

# Of CPU: to open a file, for which some rows of every column are tried; and for a batch of rows of a column.
_MOST_SECONDS_TO_OPEN = 60
_MOST_SECONDS = 15
_BATCH_ROWS = 10_000


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _expect_progress(seconds: int = _MOST_SECONDS) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process, inside libhdf5, too


def main(path: str, *external: str) -> None:
    """Says `nothing`, or `problems`; then for each column that it has `begun`, its `fault`s, and it as `column`."""
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
