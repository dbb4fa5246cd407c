"""What this study runs beside Thalweg."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import machine, programs
from harness.programs import REPOSITORY, WORK, Measurement, call
from harness.root import build_with_root

SOURCE = ("events/PHYSLITE_example.root", "CollectionTree")
ROWS_PER_GIB = 100_000  # of those events, about four GiB: three of ROOT's clusters by default
MIB = 1 << 20


def with_sizes(measured: Measurement) -> Measurement:
    """Returns the same, and numbers in readable units."""
    told = {"file_MB": measured["file_bytes"] / 1e6}
    if "memory_bytes" in measured:
        told["memory_MiB"] = measured["memory_bytes"] / MIB
    return {**measured, **told}


@dataclass
class Programs(programs.Programs):
    root_write: Path = WORK / "root_write"

    @property
    def events(self) -> Path:
        """Flat columns, which stay from run to run."""
        return WORK / f"events-{self.rows}"

    @property
    def rows(self) -> int:
        return max(1000, int(self.total_bytes / (1 << 30) * ROWS_PER_GIB))

    def write(self, suffix: str, **options: object) -> Measurement:
        common = {"data": "folder", "folder": self.events, "producers": 1, "path": self.files / f"target{suffix}"}
        return with_sizes(self.study("write", **{**common, **options}))

    def root(self, *cluster_bytes: int) -> Measurement:
        self.require("root")
        words = [str(self.root_write), str(self.events), str(self.files / "target.root"), "501"]
        return with_sizes(dict(json.loads(call([*words, *map(str, cluster_bytes)]))))

    def h5py(self, chunk_bytes: int) -> Measurement:
        return with_sizes(self.opponent("h5py_write.py", self.events, self.files / "target.h5", chunk_bytes))

    def finders(self) -> dict[str, Callable[[], None]]:
        return {"root": self.build_root_write}

    def prepare_files(self) -> None:
        if (self.events / "columns.txt").exists():
            return
        data = Path(os.environ.get("THALWEG_DATA", REPOSITORY.parent / "shared" / "data")) / SOURCE[0]
        if not data.exists():
            raise RuntimeError(f"{data} is not there: THALWEG_DATA names the folder that has it")
        self.opponent("make_events.py", data, SOURCE[1], self.rows, self.events)

    def build_root_write(self) -> None:
        build_with_root(self.opponents / "root_write.cc", self.root_write)

    def versions(self) -> dict[str, str]:
        return {"python": sys.version.split()[0], **machine.packages("root", "h5py", "hdf5plugin", "uproot", "numpy")}
