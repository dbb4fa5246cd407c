"""Everything that is run: built or found once, and what is not there named with a reason."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STUDIES = Path(__file__).resolve().parent.parent
REPOSITORY = STUDIES.parent
WORK = REPOSITORY / "build" / "bench"
IN_MEMORY = Path("/dev/shm")

Measurement = dict[str, Any]


class MissingError(Exception):
    """An opponent is not there."""


def call(command: list[str], environment: dict[str, str] | None = None, timeout: float = 1800) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, env={**os.environ, **(environment or {})}
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-2000:] or done.stdout.strip()[-2000:]}")
    return done.stdout


@dataclass
class Programs:
    """The programs of all studies. A study adds its own opponents and files."""

    total_bytes: int
    small_bytes: int  # for variants that would take minutes for the total
    page_count: int
    files: Path
    opponents: Path
    missing: dict[str, str] = field(default_factory=dict)
    driver: Path = WORK / "studies" / "driver" / "study"
    drivers: tuple[str, ...] = ("study",)  # what is built

    @property
    def target(self) -> Path:
        return self.files / "target.h5"

    def folders(self) -> list[Path]:
        """All that is written lies in these, and goes with them."""
        return [self.files]

    def study(self, subcommand: str, **options: object) -> Measurement:
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return dict(json.loads(call([str(self.driver), subcommand, *words])))

    def opponent(self, script: str, *words: object, environment: dict[str, str] | None = None) -> Measurement:
        command = [sys.executable, str(self.opponents / script), *map(str, words)]
        return dict(json.loads(call(command, environment)))

    def require(self, name: str) -> None:
        if name in self.missing:
            raise MissingError(self.missing[name])

    def build(self) -> None:
        definitions = ["-DTHALWEG_BENCH=ON", "-DTHALWEG_TESTS=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        call(["cmake", "-S", str(REPOSITORY), "-B", str(WORK), "-G", "Ninja", *definitions])
        call(["cmake", "--build", str(WORK), "--target", *self.drivers])
        for name, find in self.finders().items():
            try:
                find()
            except (MissingError, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.missing[name] = str(error)

    def finders(self) -> dict[str, Callable[[], None]]:
        """Returns, for each opponent, a function that builds it or raises MissingError."""
        return {"fio": self.find_fio}

    def prepare_files(self) -> None:
        """Makes the files that the variants read."""

    def versions(self) -> dict[str, str]:
        return {}

    def find_fio(self) -> None:
        if shutil.which("fio") is None:
            raise MissingError("fio is not installed")


HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # for what malloc gives fio as its buffers, no privilege


def fio(jobs: int, block_bytes: int, huge_pages: bool = False) -> Callable[[Programs], Measurement]:
    """Measures the upper limit of writing, with io_uring and O_DIRECT, four blocks in flight."""

    def run(programs: Programs) -> Measurement:
        programs.require("fio")
        size = programs.total_bytes // jobs // block_bytes * block_bytes
        options = {
            "name": "write",
            "filename": programs.target,
            "rw": "write",
            "ioengine": "io_uring",
            "direct": 1,
            "bs": block_bytes,
            "iodepth": 4,
            "numjobs": jobs,
            "size": size,
            "offset_increment": size,
            "fallocate": "native",
            "end_fsync": 1,
            "group_reporting": 1,
            "output-format": "json",
        }
        command = ["fio", *(f"--{name}={value}" for name, value in options.items())]
        text = call(command, HUGE_PAGES if huge_pages else None)
        job = json.loads(text[text.index("{") :])["jobs"][0]
        written, seconds = job["write"]["io_bytes"], job["write"]["runtime"] / 1e3
        return {"seconds": seconds, "raw_bytes": written, "GB_per_s": written / seconds / 1e9}

    return run
