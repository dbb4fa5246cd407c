"""What this study runs: parallel HDF5 in C over MPICH, the same through h5py, and Thalweg."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import programs
from harness.programs import STUDIES, WORK, Measurement, MissingError, call

HERE = STUDIES / "aggregators" / "programs"
BUILT = WORK / "aggregators"
HDF5 = Path("/usr/include/hdf5/mpich"), Path("/usr/lib/x86_64-linux-gnu/hdf5/mpich")
THALWEG = Path(sys.executable).with_name("thalweg")
REPEATS = 4
PARTS = ("open", "create", "write", "close")


@dataclass(frozen=True)
class Cell:
    """One point of a figure."""

    variant: str
    """all: every rank opens the file; split: the writers alone."""
    ranks: int
    k: int
    hints: tuple[tuple[str, str], ...] = ()
    transfer: str = "independent"
    block: int = 0
    is_synced: bool = False
    library: str = "C"
    cores: tuple[int, ...] = ()
    """One for each rank; empty: anywhere."""

    @property
    def is_flagged(self) -> bool:
        """Ranks share cores, so that waiting ranks are made to yield."""
        return self.ranks > cores()


@cache
def cores() -> int:
    return len(os.sched_getaffinity(0))


@dataclass
class Programs(programs.Programs):
    drivers: tuple[str, ...] = ()
    traced: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The traces that were made before, by the words of a program, which alone determine what it does."""
    h5py_python: Path = field(default_factory=lambda: Path(os.environ.get("THALWEG_H5PY_MPI", "/nowhere")))

    def build(self) -> None:
        BUILT.mkdir(parents=True, exist_ok=True)
        for name in ("mpicc.mpich", "mpiexec.hydra", "cc"):
            if shutil.which(name) is None:
                raise SystemExit(f"{name} is not there: `tools/system-packages bench` installs MPICH")
        flags = ["-O2", f"-I{HDF5[0]}", f"-L{HDF5[1]}", f"-Wl,-rpath,{HDF5[1]}"]
        call(["mpicc.mpich", *flags, "-o", str(BUILT / "writer"), str(HERE / "writer.c"), "-lhdf5"])
        yielding = BUILT / "libyielding.so"
        call(["cc", "-O2", "-shared", "-fPIC", "-o", str(yielding), str(HERE / "yielding.c"), "-ldl"])
        if not self.h5py_python.exists():
            self.missing["h5py over MPI"] = (
                "THALWEG_H5PY_MPI names no Python that has it: in a venv of its own, with 'setuptools<81', "
                "`CC=mpicc.mpich HDF5_MPI=ON HDF5_DIR=/usr/lib/x86_64-linux-gnu/hdf5/mpich pip install "
                "--no-binary=h5py h5py`"
            )

    def versions(self) -> dict[str, str]:
        return {
            "mpich": _line("mpichversion", 0),
            "hdf5": "parallel, of the system",
            "ranks_that_share_cores": f"more than {cores()}; then waiting ranks yield",
        }

    def _command(self, cell: Cell, path: Path, repeats: int) -> list[str]:
        program = [str(BUILT / "writer")]
        if cell.library == "h5py":
            if not self.h5py_python.exists():
                raise MissingError(self.missing["h5py over MPI"])
            program = [str(self.h5py_python), str(HERE / "with_h5py.py")]
        words = [cell.variant, cell.transfer, cell.k, cell.block, repeats, int(cell.is_synced), path]
        hints = [word for hint in cell.hints for word in hint]
        bind = ["-bind-to", f"user:{','.join(map(str, cell.cores))}"] if cell.cores else []
        return ["mpiexec.hydra", *bind, "-n", str(cell.ranks), *program, *map(str, words), *hints]

    def _environment(self, cell: Cell) -> dict[str, str]:
        """Returns the environment of mpiexec, which passes it to its ranks; `thalweg trace` adds its own library."""
        return {"LD_PRELOAD": str(BUILT / "libyielding.so")} if cell.is_flagged else {}

    def run(self, cell: Cell) -> Measurement:
        """`seconds`: as the paper has it, of the first file of a fresh process; the files after it apart."""
        path = self.files / "aggregators.h5"
        path.unlink(missing_ok=True)
        command = self._command(cell, path, REPEATS)
        try:
            rows = np.array(json.loads(call(command, self._environment(cell), timeout=120)))
        except RuntimeError as error:  # which goes into the report: without the paths of this machine
            raise RuntimeError(str(error).replace(" ".join(command), "the program")) from None
        writes = cell.k * 2 * (cell.ranks // 2)
        writers = slice(cell.ranks // 2, None)
        mean = rows[:, :, 0] if cell.variant == "all" else rows[:, writers, 0]
        found: Measurement = {
            "seconds": float(mean[0].mean()),
            "seconds_again": float(np.median(mean[1:].mean(axis=1))),
            "mean_of_all_s": float(rows[0, :, 0].mean()),
            "mean_of_writers_s": float(rows[0, writers, 0].mean()),
            "longest_s": float(rows[0, :, 0].max()),
            "longest_again_s": float(np.median(rows[1:, :, 0].max(axis=1))),
            "raw_bytes": writes,
            "GB_per_s": writes / float(np.median(rows[1:, :, 0].max(axis=1))) / 1e9,
            "is_flagged": int(cell.is_flagged),
        }
        found |= {f"{name}_s": float(rows[1:, writers, i + 1].mean()) for i, name in enumerate(PARTS)}
        return found | self.who_wrote(cell)

    def who_wrote(self, cell: Cell) -> dict[str, Any]:
        """Returns, from one trace of the same program, which ranks wrote the bytes, and what became of the hints."""
        path, kept = self.files / "traced.h5", BUILT / "traced.json"
        key = " ".join(self._command(cell, path, 1))
        if not self.traced and kept.exists():
            self.traced = json.loads(kept.read_text())
        if key not in self.traced:
            path.unlink(missing_ok=True)
            trace = self.files / "trace.root"
            words = [
                "trace",
                "--force",
                "--out",
                str(trace),
                "--level",
                "posix",
                "--level",
                "mpi",
                "--",
                *self._command(cell, path, 1),
            ]
            call([str(THALWEG), *words], self._environment(cell), timeout=180)
            done = subprocess.run([THALWEG, "explain", "--json", trace], capture_output=True, text=True, check=False)
            if not done.stdout:
                raise RuntimeError(f"its trace is not explained: {done.stderr.strip()}")
            verdict = json.loads(done.stdout)
            if not verdict["is_complete"] or (cell.hints and not verdict["settings"]):
                raise RuntimeError(f"its trace is not whole: {verdict['first_line']}")
            self.traced[key] = {
                "writers": _writers(trace, path),
                "hints": "; ".join(
                    f"{each['name']}={each['asked']}: {each['state']} ({each['why']})"
                    for each in verdict["settings"]
                    if each["kind"] == "hint"
                ),
                "effects": sum(each["state"] == "in effect" for each in verdict["settings"] if each["kind"] == "hint"),
            }
            kept.write_text(json.dumps(self.traced))
        return self.traced[key]

    def thalweg(self, writers: int, k: int) -> Measurement:
        path = self.files / "thalweg.h5"
        words = [sys.executable, HERE / "with_thalweg.py", writers, k, REPEATS, 1, path]
        rows = np.array(json.loads(call([str(word) for word in words])))[:, 0, 0]
        again = float(np.median(rows[1:]))
        raw = 2 * k * writers
        return {
            "seconds": float(rows[0]),
            "seconds_again": again,
            "longest_again_s": again,
            "raw_bytes": raw,
            "GB_per_s": raw / again / 1e9,
            "is_flagged": int(writers + 1 > cores()),
        }


def _writers(trace: Path, path: Path) -> str:
    """Ranks that wrote raw data of the file, with their shares."""
    from thalweg._trace.trace_file import load_trace

    loaded = load_trace(str(trace))
    calls = loaded.posix
    mine = calls.where((calls.kind == "write") & np.array([loaded.files[n] == str(path) for n in calls.file], bool))
    total = max(1, int(mine.moved.sum()))
    shares = {int(rank): int(mine.moved[mine.rank == rank].sum()) / total for rank in np.unique(mine.rank)}
    return ", ".join(f"{rank} ({100 * share:.0f} %)" for rank, share in shares.items() if share >= 0.005)


def _line(command: str, number: int) -> str:
    if shutil.which(command) is None:
        return "not there"
    lines = subprocess.run([command], capture_output=True, text=True, check=False).stdout.splitlines()
    return " ".join(lines[number].split()) if len(lines) > number else ""
