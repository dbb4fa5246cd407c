"""What this study runs beside Thalweg."""

import importlib.util
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import machine, programs
from harness.programs import WORK, MissingError, call

OTHER_FILTERS = "blosc,blosc2,bzip2,fcidecomp,htj2k,lz4,sperr,sz,sz3,zfp,zstd"


def find_package(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        raise MissingError(f"the package {name} is not installed")


@dataclass
class Programs(programs.Programs):
    split_ranks: Path = WORK / "phdf5_split_ranks"
    native: Path = WORK / "native"  # hdf5plugin, compiled for this machine

    @property
    def pulses(self) -> Path:
        return self.files / "pulses.bin"

    @property
    def recorded(self) -> Path:
        return self.files / "recorded.h5"

    def h5py(self, script: str, *words: object, native: bool = False) -> dict[str, Any]:
        if native:
            self.require("native hdf5plugin")
        return self.opponent(script, *words, environment={"PYTHONPATH": str(self.native)} if native else None)

    def finders(self) -> dict[str, Callable[[], None]]:
        return {
            **super().finders(),
            "parallel HDF5": self.build_split_ranks,
            "native hdf5plugin": self.build_native_plugin,
            "TensorStore": lambda: find_package("tensorstore"),
            "ADIOS2": lambda: find_package("adios2"),
        }

    def prepare_files(self) -> None:
        self.study("pulses", path=self.pulses)
        self.study("write", path=self.recorded, producers=1, bytes=self.small_bytes)

    def versions(self) -> dict[str, str]:
        return {
            "parallel HDF5": machine.first_line("pkg-config", "--modversion", "hdf5-mpich"),
            "MPICH": machine.first_line("mpichversion"),
            **machine.packages("h5py", "hdf5plugin", "numpy", "tensorstore", "adios2"),
        }

    def build_split_ranks(self) -> None:
        for program in ("mpicc.mpich", "mpiexec.mpich", "pkg-config"):
            if shutil.which(program) is None:
                raise MissingError(f"{program} is not installed")
        flags = call(["pkg-config", "--cflags", "--libs", "hdf5-mpich"]).split()
        source = str(self.opponents / "phdf5_split_ranks.c")
        call(["mpicc.mpich", "-O2", "-o", str(self.split_ranks), source, *flags])

    def build_native_plugin(self) -> None:
        """The wheel of hdf5plugin knows only SSE2; this is the same library with all that the processor has."""
        if not (self.native / "hdf5plugin").exists():
            environment = {"HDF5PLUGIN_NATIVE": "True", "HDF5PLUGIN_OPENMP": "False", "HDF5PLUGIN_STRIP": OTHER_FILTERS}
            options = ["--quiet", "--no-deps", "--no-binary", "hdf5plugin", "--target", str(self.native)]
            call([sys.executable, "-m", "pip", "install", *options, "hdf5plugin"], environment)
