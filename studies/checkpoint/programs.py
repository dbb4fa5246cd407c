"""What this study runs: ranks of MPI, ours and others."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.programs import WORK, Measurement, MissingError, call

FOLDER = WORK / "studies" / "checkpoint" / "programs"
ELEMENT_BYTES = 8
# Bytes of each of so many ranks where the study is as large as it should be: 127 MB is the paper's.
RANK_BYTES = {1: 127_000_000, 2: 254_000_000, 4: 127_000_000, 8: 32_000_000, 16: 32_000_000}
# Open MPI refuses to be run by root, and more ranks than cores, unless it is told to.
ENVIRONMENT = {
    "mpich": {},
    "openmpi": {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
    },
}


def forget(folder: Path) -> None:
    """Drops the files from the page cache, so that they are read from the disk. A host's cache is out of reach."""
    for path in folder.glob("target*"):
        file = os.open(path, os.O_RDONLY)
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


@dataclass
class Programs(programs.Programs):
    drivers: tuple[str, ...] = ("checkpoint_ours_mpich", "checkpoint_strategies_mpich", "checkpoint_facts")

    def build(self) -> None:
        if shutil.which("mpiexec.mpich") is None:
            raise RuntimeError("there is no MPICH: `tools/system-packages bench` installs Debian's")
        super().build()

    def finders(self) -> dict[str, Callable[[], None]]:
        return {"hdf5": self.find_hdf5, "openmpi": self.find_openmpi}

    def find_hdf5(self) -> None:
        # Asked for one that is not there, it names all that it has.
        line = ["mpiexec.mpich", "-n", "1", str(FOLDER / "checkpoint_strategies_mpich"), "any", "save", "nowhere", "8"]
        said = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
        if "hdf5-collective" not in said.stderr:
            raise MissingError("there is no parallel HDF5: `tools/system-packages bench` installs Debian's")

    def find_openmpi(self) -> None:
        if shutil.which("mpiexec.openmpi") is None:
            raise MissingError("there is no Open MPI: `apt install openmpi-bin libopenmpi-dev`")
        call(["cmake", "--build", str(WORK), "--target", "checkpoint_ours_openmpi", "checkpoint_strategies_openmpi"])

    def run(self, ranks: int, program: str, *words: object, mpi: str = "mpich") -> Measurement:
        executable = FOLDER / f"checkpoint_{program}_{mpi}"
        command = [f"mpiexec.{mpi}", "-n", str(ranks), str(executable), *map(str, words)]
        measured: Measurement = json.loads(call(command, ENVIRONMENT[mpi]))
        if "lost_ratio" not in measured:
            measured["GB_per_s"] = measured["raw_bytes"] / measured["seconds"] / 1e9
        return measured

    def rank_bytes(self, ranks: int) -> int:
        """Returns the size per rank; it is smaller if the study is to be smaller (half a GiB is the whole)."""
        return int(RANK_BYTES[ranks] * min(1.0, self.total_bytes / (1 << 29))) // ELEMENT_BYTES * ELEMENT_BYTES

    def save(self, ranks: int, what: str = "save", mpi: str = "mpich", rank_bytes: int | None = None) -> Measurement:
        if mpi != "mpich":
            self.require(mpi)
        return self.run(ranks, "ours", what, self.target, rank_bytes or self.rank_bytes(ranks), mpi=mpi)

    def facts(self, ranks: int) -> Measurement:
        """Measures the work of rank 0 alone for so many ranks, each with 127 MB."""
        words = [str(FOLDER / "checkpoint_facts"), str(ranks), str(RANK_BYTES[1]), str(self.target)]
        return dict(json.loads(call(words)))

    def restore(self, ranks: int, saved: int, how: str = "restore") -> Measurement:
        self.save(saved)
        forget(self.files)
        saver_bytes = self.rank_bytes(saved)
        return self.run(ranks, "ours", how, self.target, saver_bytes * saved // ranks, saver_bytes)

    def other(
        self, ranks: int, strategy: str, *hints: str, what: tuple[str, ...] = ("save",), mpi: str = "mpich"
    ) -> Measurement:
        """`what`: one after the other; what is measured is the last."""
        for needed in ("hdf5", "openmpi"):
            if needed == mpi or strategy.startswith(needed):
                self.require(needed)
        for each in what:
            if each == "restore":
                forget(self.files)
            words = (strategy, each, self.target, self.rank_bytes(ranks), *hints)
            measured = self.run(ranks, "strategies", *words, mpi=mpi)
        return measured
