"""What this study runs beside Thalweg."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from harness import machine, programs
from harness.programs import IN_MEMORY, Measurement

COLUMNS = 50
LEVELS = (1, 5)


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

    def prepare_files(self) -> None:
        free = shutil.disk_usage(self.memory).free
        if 4 * self.total_bytes > free:
            raise RuntimeError(f"{self.memory} has too little room for 4 files of {self.total_bytes} bytes")
        for level in LEVELS:
            self.write(path=self.recorded(level), codec=f"zstd-{level}", bytes=self.small_bytes // 2)
        self.study("write", path=self.wide, data="noise", columns=COLUMNS, bytes=self.small_bytes // 4)

    def versions(self) -> dict[str, str]:
        return machine.packages("uproot", "awkward", "cramjam", "numpy")
