"""The MPIs that tests of tracing run programs with: MPICH, and Open MPI with each of its two components for files."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Some of these tests are run as root in a container, where Open MPI asks twice whether that is meant.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Mpi:
    name: str
    compiler: str
    """Its wrapper around the C compiler."""
    launcher: tuple[str, ...]
    hdf5: str
    """Debian's name of the HDF5 that is built with it."""
    environment: dict[str, str] = field(default_factory=dict)
    hints_are_told: bool = True
    """What is reported of hints is what is in effect: it names its file system, as ROMIO does."""
    gathering: dict[str, str] = field(default_factory=dict)
    """Variables by which one rank writes for all, where hints do not do that."""

    def __str__(self) -> str:
        return self.name

    def skip_if_missing(self) -> None:
        for each in (self.compiler, self.launcher[0]):
            if shutil.which(each) is None:
                pytest.skip(f"there is no {each}: `tools/system-packages bench`, and Debian's openmpi-bin, have them")

    def flags_of_hdf5(self) -> tuple[str, ...]:
        include, library = Path("/usr/include/hdf5") / self.hdf5, LIBRARIES / "hdf5" / self.hdf5
        if not include.is_dir() or not library.is_dir():
            pytest.skip(f"there is no libhdf5-{self.hdf5}-dev")
        return f"-I{include}", f"-L{library}", "-lhdf5"

    def command(self, ranks: int, *program: object, cores: tuple[int, ...] = ()) -> list[object]:
        """`cores`: on which each rank may run."""
        if not cores:
            return [*self.launcher, "-n", ranks, *program]
        parts: list[object] = []
        for rank, core in enumerate(cores):
            parts += [":"] * (rank > 0) + ["-n", 1, "taskset", "-c", core, *program]
        return [*self.launcher, *parts]

    def variables(self, *, gathers: bool = False) -> dict[str, str]:
        return {**os.environ, **self.environment, **(self.gathering if gathers else {})}


_OPEN = ("mpiexec.openmpi", "--oversubscribe", "--bind-to", "none")
_ONE_FOR_ALL = {"OMPI_MCA_fcoll": "vulcan", "OMPI_MCA_io_ompio_num_aggregators": "1"}
MPICH = Mpi("MPICH", "mpicc.mpich", ("mpiexec.hydra",), "mpich")
OMPIO = Mpi(
    "Open MPI, OMPIO",
    "mpicc.openmpi",
    (*_OPEN, "--mca", "io", "ompio"),
    "openmpi",
    OPEN_MPI,
    hints_are_told=False,
    gathering=_ONE_FOR_ALL,
)
ROMIO = Mpi(
    "Open MPI, ROMIO",
    "mpicc.openmpi",
    (*_OPEN, "--mca", "io", "romio321"),
    "openmpi",
    OPEN_MPI,
    hints_are_told=False,
)
# With what it takes by default: OMPIO.
OPEN_MPI_ALONE = Mpi("Open MPI", "mpicc.openmpi", _OPEN, "openmpi", OPEN_MPI, hints_are_told=False)
MPIS = (MPICH, OMPIO, ROMIO)
