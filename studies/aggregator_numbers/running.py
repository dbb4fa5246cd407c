"""Runs the program on a storage with a law, with a number of aggregators or with groups, and asks `thalweg tune`."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aggregator_numbers.cells import DEFAULT, LAWS, LIBRARIES, RANKS, Law, Library, Writes

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
THALWEG = Path(sys.executable).with_name("thalweg")
SECONDS = 120
MEASURE_K = """
import json, sys
from pathlib import Path
from thalweg._tune.timed_writes import measure
print(json.dumps(vars(measure(Path(sys.argv[1]))[0])))
"""


class Bed:
    """The programs, the law, and a folder in memory whose own times are none beside those of the law."""

    def __init__(self, built: Path, memory: Path) -> None:
        self._built, self._memory, self._files = built, memory, memory / "files"
        self._files.mkdir()
        self._law = built / "liblaw.so"
        self._yielding = built / "libyielding.so"
        flags = ["-O1", "-shared", "-fPIC"]
        _compile("cc", self._law, REPOSITORY / "tests/standins/law/law.c", *flags)
        _compile("cc", self._yielding, REPOSITORY / "studies/aggregators/programs/yielding.c", *flags)
        for name, library in LIBRARIES.items():
            if shutil.which(library.compiler) is None or shutil.which(library.launcher[0]) is None:
                sys.exit(f"{library.compiler} is missing: `tools/system-packages bench` has MPICH and Open MPI")
            _compile(library.compiler, built / name, HERE / "writes.c", "-O1")

    def seconds(
        self, library: str, law: str, writes: Writes, number: int, files: int, extra: Mapping[str, str] | None = None
    ) -> list[float]:
        """Returns the seconds of each of so many files, which one launch of the program writes."""
        environment = self._environment(law) | dict(extra or {})
        if number != DEFAULT:
            environment |= self._with_number(LIBRARIES[library], number)
        before = self._bytes_by_law(law)
        said = _run([*self._command(library), str(files), *writes.words()], environment)
        obeyed = self._bytes_by_law(law) - before
        if self._out.stat().st_size != writes.bytes or obeyed < files * writes.bytes:
            raise RuntimeError(f"{library} has written {obeyed:,} bytes by the law, and not {files} x {writes.bytes:,}")
        return [float(each) for each in said.split()]

    def k(self, law: str) -> dict[str, Any]:
        """Returns the bytes that keep one aggregator busy, as `thalweg tune` measures them, with their interval."""
        words = [sys.executable, "-c", MEASURE_K, str(self._files)]
        return dict(json.loads(_run(words, self._environment(law), timeout=300)))

    def advice(self, law: str, writes: Writes, k: int, library: str = "ROMIO") -> dict[str, Any]:
        """Returns what `thalweg tune --aggregators` says of these writes."""
        self._out.unlink(missing_ok=True)
        words = [str(THALWEG), "tune", "--aggregators", "--json", "--k", str(k), "--", *self._command(library), "1"]
        said = _run([*words, *writes.words()], self._environment(law), cwd=self._files)
        (found,) = json.loads(said)["writes"]
        return dict(found)

    def bytes_by_rank(self, library: str, writes: Writes, extra: Mapping[str, str]) -> dict[int, int]:
        """Returns how many bytes each rank writes, from one traced run without the law."""
        from thalweg._trace.trace_file import load_trace

        self._out.unlink(missing_ok=True)
        trace = self._memory / "trace.root"
        words = [str(THALWEG), "trace", "--force", "--out", str(trace), "--", *self._command(library), "1"]
        _run([*words, *writes.words()], os.environ | LIBRARIES[library].environment | dict(extra))
        loaded = load_trace(str(trace))
        calls = loaded.posix.where(loaded.posix.kind == "write")
        found: dict[int, int] = {}
        for file, rank, moved in zip(calls.file, calls.rank, calls.moved, strict=True):
            if loaded.files[file] == str(self._out):
                found[int(rank)] = found.get(int(rank), 0) + int(moved)
        return found

    @property
    def _out(self) -> Path:
        return self._files / "out.bin"

    def _command(self, library: str) -> list[str]:
        launcher = LIBRARIES[library].launcher
        return [*launcher, "-n", str(RANKS), str(self._built / library), str(self._out)]

    def _environment(self, law: str) -> dict[str, str]:
        state = self._memory / law.replace(" ", "-")
        state.mkdir(exist_ok=True)
        one: Law = LAWS[law]
        places = {"LAW_FOLDER": str(self._files), "LAW_STATE": str(state)}
        # Waiting ranks of MPICH give the core to those that work: there are more ranks than cores.
        preloaded = {"LD_PRELOAD": f"{self._yielding}:{self._law}"}
        return os.environ | LIBRARIES["OMPIO"].environment | one.variables() | places | preloaded

    def _with_number(self, library: Library, number: int) -> dict[str, str]:
        found = dict(each.format(number).split("=") for each in library.variables)
        if library.hints:
            hints = self._memory / "hints"
            hints.write_text("".join(f"{each.format(number)}\n" for each in library.hints))
            found["ROMIO_HINTS"] = str(hints)
        return found

    def _bytes_by_law(self, law: str) -> int:
        counts = self._memory / law.replace(" ", "-") / "counts"
        return int(struct.unpack("<4q", counts.read_bytes())[3]) if counts.exists() else 0


@contextmanager
def bed() -> Iterator[Bed]:
    with TemporaryDirectory() as built, TemporaryDirectory(prefix="thalweg-law-", dir="/dev/shm") as memory:
        yield Bed(Path(built), Path(memory).resolve())


def _compile(compiler: str, out: Path, source: Path, *flags: str) -> None:
    subprocess.run([compiler, *flags, "-o", str(out), str(source), "-ldl"], check=True)


def _run(words: list[str], environment: Mapping[str, str], cwd: Path | None = None, timeout: float = SECONDS) -> str:
    done = subprocess.run(
        words, env=dict(environment), cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(words[0]).name} has failed: {done.stderr.strip()[-500:]}")
    return done.stdout
