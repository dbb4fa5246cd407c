"""Everything that is run: built or found once, and what is not there named with a reason."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
WORK = REPOSITORY / "build" / "bench"
OTHER_FILTERS = "blosc,blosc2,bzip2,fcidecomp,htj2k,lz4,sperr,sz,sz3,zfp,zstd"


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
    total_bytes: int
    small_bytes: int  # of those for whom the total would take minutes
    page_count: int
    files: Path
    missing: dict[str, str] = field(default_factory=dict)
    driver: Path = WORK / "studies" / "record" / "driver" / "record_study"
    split_ranks: Path = WORK / "phdf5_split_ranks"
    native: Path = WORK / "native"  # hdf5plugin, compiled for this machine

    @property
    def pulses(self) -> Path:
        return self.files / "pulses.bin"

    @property
    def recorded(self) -> Path:
        return self.files / "recorded.h5"

    @property
    def target(self) -> Path:
        return self.files / "target.h5"

    def study(self, subcommand: str, **options: object) -> dict[str, Any]:
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return dict(json.loads(call([str(self.driver), subcommand, *words])))

    def opponent(self, script: str, *words: object, native: bool = False) -> dict[str, Any]:
        if native:
            self.require("native hdf5plugin")
        environment = {"PYTHONPATH": str(self.native)} if native else None
        command = [sys.executable, str(HERE / "opponents" / script), *map(str, words)]
        return dict(json.loads(call(command, environment)))

    def require(self, name: str) -> None:
        if name in self.missing:
            raise MissingError(self.missing[name])

    def build(self) -> None:
        definitions = ["-DTHALWEG_BENCH=ON", "-DTHALWEG_TESTS=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        call(["cmake", "-S", str(REPOSITORY), "-B", str(WORK), "-G", "Ninja", *definitions])
        call(["cmake", "--build", str(WORK), "--target", "record_study"])
        for name, prepare in (
            ("fio", self.find_fio),
            ("parallel HDF5", self.build_split_ranks),
            ("native hdf5plugin", self.build_native_plugin),
        ):
            try:
                prepare()
            except (MissingError, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.missing[name] = str(error)

    def prepare_files(self) -> None:
        self.files.mkdir(parents=True, exist_ok=True)
        self.study("pulses", path=self.pulses)
        self.study("write", path=self.recorded, producers=1, bytes=self.small_bytes)

    def find_fio(self) -> None:
        if shutil.which("fio") is None:
            raise MissingError("fio is not installed")

    def build_split_ranks(self) -> None:
        for program in ("mpicc.mpich", "mpiexec.mpich", "pkg-config"):
            if shutil.which(program) is None:
                raise MissingError(f"{program} is not installed")
        flags = call(["pkg-config", "--cflags", "--libs", "hdf5-mpich"]).split()
        source = str(HERE / "opponents" / "phdf5_split_ranks.c")
        call(["mpicc.mpich", "-O2", "-o", str(self.split_ranks), source, *flags])

    def build_native_plugin(self) -> None:
        """The wheel of hdf5plugin knows only SSE2; this is the same library with all that the processor has."""
        if not (self.native / "hdf5plugin").exists():
            environment = {"HDF5PLUGIN_NATIVE": "True", "HDF5PLUGIN_OPENMP": "False", "HDF5PLUGIN_STRIP": OTHER_FILTERS}
            options = ["--quiet", "--no-deps", "--no-binary", "hdf5plugin", "--target", str(self.native)]
            call([sys.executable, "-m", "pip", "install", *options, "hdf5plugin"], environment)
