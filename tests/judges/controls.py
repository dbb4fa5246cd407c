"""Writers that break their promise when the power is cut: the judges must find each of them.

h5py with flush and fsync, h5py as a writer of SWMR, uproot, and Thalweg under libeatmydata, which makes syncs do
nothing. Each appends rows and says after each sync that they are durable.
"""

import glob
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import expected

if TYPE_CHECKING:
    from recordings import Recorder

CONTROLS = {"h5py": ".h5", "swmr": ".h5", "uproot": ".root", "eatmydata": ".h5"}
BATCH = 20
CHUNK = 100


def why_not_eatmydata() -> str:
    return "" if preload() else "libeatmydata is not installed (make judges installs it)"


def preload() -> str:
    """Returns the library that makes syncs do nothing, or an empty text."""
    return next(iter(glob.glob("/usr/lib/*/libeatmydata.so*")), "")


def sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def batches(recorder: "Recorder", flush: Callable[[], None]) -> Iterator[tuple[int, expected.Columns]]:
    """Yields rows to be appended until the time is over, and says what is durable after each sync."""
    sync(recorder.path)
    sync(recorder.path.parent)
    recorder.promise("created")
    end_s, begin = time.monotonic() + recorder.choices.seconds, 0
    while time.monotonic() < end_s:
        recorder.say("trying", producer=0, rows=begin + BATCH)
        yield begin, expected.rows(0, begin, begin + BATCH)
        begin += BATCH
        recorder.say("appended", producer=0, rows=begin, at=time.monotonic())
        flush()
        sync(recorder.path)
        now = time.monotonic()
        recorder.promise("durable", rows_at=now, units_at=now)
        time.sleep(0.02)
    recorder.promise("closing")


def write_with_h5py(recorder: "Recorder") -> None:
    import h5py

    with h5py.File(recorder.path, "w", libver="latest") as file:
        table = file.create_group("events")
        columns: dict[str, Any] = {
            name: table.create_dataset(
                name, (0, *c.shape[1:]), c.dtype, maxshape=(None, *c.shape[1:]), chunks=(CHUNK, *c.shape[1:])
            )
            for name, c in expected.rows(0, 0, 1).items()
        }
        if recorder.choices.subject == "swmr":
            file.swmr_mode = True
        file.flush()
        for begin, rows in batches(recorder, file.flush):
            for name, values in rows.items():
                columns[name].resize(begin + BATCH, 0)
                columns[name][begin:] = values


def write_with_uproot(recorder: "Recorder") -> None:
    import uproot

    with uproot.recreate(recorder.path) as file:
        narrow = ("producer", "row", "x")
        tuple_ = file.mkrntuple("events", {name: expected.rows(0, 0, 1)[name].dtype for name in narrow})
        for _, rows in batches(recorder, file.file.sink.flush):
            tuple_.extend({name: rows[name] for name in narrow})
