"""early_runs.py FOLDER NAME: writes the runs of which tests/early keeps one of each version, NAME.h5 and NAME.root.

Once a version is released, its files are never made again: they show that what it wrote stays readable. What they
contain is a function of the row number, so `early_test.py` knows each value without the files.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import thalweg as tw

ROWS = 60
UNITS = 3
SCHEMA = {
    "pulses": {
        "timestamp": tw.uint64(unit="ns", description="of the trigger"),
        "energy": tw.float32(unit="keV"),
        "waveform": tw.array(tw.uint16(unit="ADC"), 16),
        "hits": tw.list_({"channel": tw.uint8, "charge": tw.float64}),
        "note": tw.string,
        "is_good": tw.bool_,
        "gain": tw.optional(tw.int16),
    },
    "slow": {"temperature": tw.float64(unit="K"), "readings": tw.list_(tw.list_(tw.int32))},
}
METADATA = {"operator": "Ada", "run_number": "7"}


def row_of_pulses(i: int) -> dict[str, Any]:
    return {
        "timestamp": 10**15 + 1000 * i,
        "energy": i / 4,
        "waveform": np.arange(16, dtype=np.uint16) * 100 + i,
        "hits": [{"channel": k, "charge": i + k / 8} for k in range(i % 4)],
        "note": f"event {i} µ" if i % 5 else "",
        "is_good": i % 3 == 0,
        "gain": None if i % 7 == 0 else -i,
    }


def row_of_slow(i: int) -> dict[str, Any]:
    return {"temperature": 4.2 + i / 16, "readings": [[i, -i], [], [i] * (i % 3)]}


def write(path: Path) -> None:
    pages = {"wide_page_bytes": "512B", "narrow_page_bytes": "512B"}  # several of each column
    with tw.create(path, SCHEMA, metadata=METADATA, tuning=pages) as out:
        for unit in range(UNITS):
            with out.work_unit(f"unit {unit}") as part:
                for i in range(unit * ROWS // UNITS, (unit + 1) * ROWS // UNITS):
                    part["pulses"].append(row_of_pulses(i))
        with out.producer("slow") as slow:
            for i in range(5):
                slow.append(row_of_slow(i))


if __name__ == "__main__":
    for container in ("h5", "root"):
        write(Path(sys.argv[1]) / f"{sys.argv[2]}.{container}")
