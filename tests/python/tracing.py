"""What tests of tracing share: C programs, `thalweg trace` around them, and what it wrote."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw

THALWEG = Path(sys.executable).with_name("thalweg")
COMPILER = shutil.which("cc")
MPI_COMPILER, MPI_RUN = shutil.which("mpicc.mpich"), shutil.which("mpiexec.hydra")


def compile_c(folder: Path, source: str, *flags: str, compiler: str | None = COMPILER) -> Path:
    """A program of this text, which is compiled once a folder."""
    if compiler is None:
        pytest.skip("there is no C compiler of that kind")
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("*.c")))
    path = folder / f"program{number}.c"
    path.write_text(f"#define _GNU_SOURCE\n{source}")
    done = subprocess.run(
        [compiler, "-O1", "-o", path.with_suffix(""), path, *flags], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return path.with_suffix("")


@dataclass
class Traced:
    done: subprocess.CompletedProcess[bytes]
    path: Path

    @property
    def said(self) -> str:
        return self.done.stderr.decode()

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(tw.open(self.path).metadata["trace"])
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = tw.open(self.path)[table].read().to_awkward().tolist()
        return rows

    def calls(self, level: str = "posix", of: str = "") -> list[dict[str, Any]]:
        """Returns the calls of files whose path has `of` in it (all if it is empty), with names instead of numbers."""
        names, files = self.rows("operations"), self.rows("files")
        calls = self.rows(level)
        for call in calls:
            operation = names[call["operation"]]
            call["name"], call["kind"], call["path"] = operation["name"], operation["kind"], files[call["file"]]["path"]
        return [call for call in calls if of in call["path"]]


def trace(out: Path, *command: object, options: tuple[object, ...] = (), **more: Any) -> Traced:
    words = [str(THALWEG), "trace", "--out", out, *options, "--", *command]
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False, timeout=120, **more)
    return Traced(done, out)


def starts(calls: list[dict[str, Any]], thread: int) -> np.ndarray:  # type: ignore[type-arg]
    """When calls of one thread began, in units of the file."""
    mine = [call for call in calls if call["thread"] == thread]
    gaps, durations = (np.array([call[name] for call in mine], np.int64) for name in ("gap", "duration"))
    return np.cumsum(gaps + durations) - durations


def left_folders() -> list[str]:
    """Those of tracers that are gone: other traces may be taken at the same time."""
    names = [name for name in os.listdir("/dev/shm") if name.startswith("thalweg-trace-")]
    return [name for name in names if not Path("/proc", name.split("-")[2]).exists()]
