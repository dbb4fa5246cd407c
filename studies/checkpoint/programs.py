"""What this study runs: ranks of MPI, ours and others."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.programs import WORK, Measurement, MissingError, call

FOLDER = WORK / "studies" / "checkpoint" / "programs"
ELEMENT_BYTES = 8


def forget(folder: Path) -> None:
    """What was written is read from the disk, and not from this machine's memory; a host's is out of our reach."""
    for path in folder.glob("target*"):
        file = os.open(path, os.O_RDONLY)
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


@dataclass
class Programs(programs.Programs):
    drivers: tuple[str, ...] = ("checkpoint_ours", "checkpoint_strategies")

    def build(self) -> None:
        if shutil.which("mpicxx") is None or shutil.which("mpiexec") is None:
            raise RuntimeError("there is no MPI: `tools/system-packages bench` installs Debian's mpich")
        super().build()

    def finders(self) -> dict[str, Callable[[], None]]:
        return {"hdf5": self.find_hdf5}

    def find_hdf5(self) -> None:
        if b"hdf5-collective" not in (FOLDER / "checkpoint_strategies").read_bytes():
            raise MissingError("there is no parallel HDF5: `tools/system-packages bench` installs Debian's")

    def run(self, ranks: int, program: str, *words: object) -> Measurement:
        command = ["mpiexec", "-n", str(ranks), str(FOLDER / f"checkpoint_{program}"), *map(str, words)]
        measured: Measurement = json.loads(call(command))
        if measured["seconds"] > 0:
            measured["GB_per_s"] = measured["raw_bytes"] / measured["seconds"] / 1e9
        return measured

    def rank_bytes(self, ranks: int) -> int:
        """127 MB a rank of four where the study is as large as it should be, as in the paper."""
        return int(self.total_bytes / 0.5 / (1 << 30) * 508e6) // ranks // ELEMENT_BYTES * ELEMENT_BYTES

    def save(self, ranks: int, what: str = "save") -> Measurement:
        return self.run(ranks, "ours", what, self.target, self.rank_bytes(ranks))

    def restore(self, ranks: int, saved: int, how: str = "restore") -> Measurement:
        self.save(saved)
        forget(self.files)
        return self.run(ranks, "ours", how, self.target, self.rank_bytes(saved) * saved // ranks)

    def other(self, ranks: int, strategy: str, *hints: str) -> Measurement:
        if strategy.startswith("hdf5"):
            self.require("hdf5")
        return self.run(ranks, "strategies", strategy, "save", self.target, self.rank_bytes(ranks), *hints)

    def restore_per_process(self, ranks: int) -> Measurement:
        self.other(ranks, "posix-direct")
        forget(self.files)
        return self.run(ranks, "strategies", "posix-direct", "restore", self.target, self.rank_bytes(ranks))
