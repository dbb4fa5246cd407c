"""What this study runs beside Thalweg."""

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness import machine, programs
from harness.programs import IN_MEMORY, WORK, Measurement, call
from harness.root import build_with_root

COLUMNS = 50
LEVELS = (1, 5)
OF_DATA_FRAMES = ("ROOTVecOps", "ROOTDataFrame", "Tree", "Imt", "Thread", "MathCore")


def make_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="thalweg-study-", dir=IN_MEMORY))


@dataclass
class Programs(programs.Programs):
    memory: Path = field(default_factory=make_folder)  # on tmpfs

    @property
    def target(self) -> Path:
        return self.files / "target.root"

    @property
    def memory_target(self) -> Path:
        return self.memory / "target.root"

    @property
    def wide(self) -> Path:
        return self.memory / "wide.root"

    def recorded(self, level: int) -> Path:
        return self.memory / f"recorded-{level}.root"

    def folders(self) -> list[Path]:
        return [*super().folders(), self.memory]

    def write(self, **options: object) -> Measurement:
        return self.study("write", **{"data": "events", "bytes": self.total_bytes, **options})

    def root(self, program: str, *words: object) -> Measurement:
        self.require("root")
        return dict(json.loads(call([str(WORK / program), *map(str, words)])))

    def finders(self) -> dict[str, Callable[[], None]]:
        return {**super().finders(), "root": self.build_root}

    def build_root(self) -> None:
        build_with_root(self.opponents / "root_parallel_write.cc", WORK / "root_parallel_write")
        build_with_root(self.opponents / "root_snapshot.cc", WORK / "root_snapshot", OF_DATA_FRAMES)
        build_with_root(self.opponents / "root_read.cc", WORK / "root_read", OF_DATA_FRAMES)

    def prepare_files(self) -> None:
        free = shutil.disk_usage(self.memory).free
        if 4 * self.total_bytes > free:
            raise RuntimeError(f"{self.memory} has too little room for 4 files of {self.total_bytes} bytes")
        for level in LEVELS:
            self.write(path=self.recorded(level), codec=f"zstd-{level}", bytes=self.small_bytes // 2)
        self.study("write", path=self.wide, data="noise", columns=COLUMNS, bytes=self.small_bytes // 4)

    def versions(self) -> dict[str, str]:
        return machine.packages("root", "uproot", "awkward", "cramjam", "numpy")
