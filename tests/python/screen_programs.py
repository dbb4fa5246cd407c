"""Six programs whose settings `thalweg tune --screen` tries: wheels, h5py over MPI, and C over MPICH."""

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import judged_campaign
import pytest
from mpis import MPICH, OPEN_MPI_ALONE, ROMIO, Mpi
from tracing import compile_c

SYSTEM_PYTHON = "/usr/bin/python3"
# Partial rows for the sieve, columns of chunks for the cache, many groups for blocks of metadata; then all is read.
H5PY = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    rows = file.create_dataset("rows", (250, 1000), "f4")
    for i in range(250):
        rows[i, :500] = np.arange(500) + i
    columns = file.create_dataset("columns", (64, 16384), "f4", chunks=(64, 1024))
    for i in range(64):
        columns[i, :] = np.arange(16384)
    for i in range(40):
        file.create_group(f"run{i}").attrs["number"] = i
with h5py.File("out.h5", "r+") as file:
    for i in range(0, 250, 10):
        file["rows"][i, 100:200]
    for i in range(64):
        file["columns"][i, ::4]
"""
NETCDF = """
import netCDF4, numpy as np
with netCDF4.Dataset("out.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", 5000)
    field = file.createVariable("field", "f4", ("time", "x"), chunksizes=(16, 5000))
    still = file.createVariable("still", "f8", ("x",))
    for step in range(64):
        field[step, :] = np.arange(5000) + step
    for part in range(50):
        still[part * 100 : part * 100 + 50] = part
with netCDF4.Dataset("out.nc") as file:
    for step in range(0, 64, 2):
        file["field"][step, ::7]
"""
# Each rank writes every fourth column, together; then alone, one after the other; then all read.
H5PY_OVER_MPI = """
from mpi4py import MPI
import h5py, numpy as np
world = MPI.COMM_WORLD
with h5py.File("out.h5", "w", driver="mpio", comm=world) as file:
    together = file.create_dataset("together", (16, 256), "f8")
    with together.collective:
        together[:, world.rank :: world.size] = np.full((16, 256 // world.size), world.rank)
    chunked = file.create_dataset("chunked", (16, 256), "f8", chunks=(4, 256))
    with chunked.collective:
        chunked[world.rank :: world.size, :] = world.rank
    alone = file.create_dataset("alone", (16, 256), "f8")
    for turn in range(world.size):
        if turn == world.rank:
            alone[turn * 4 : turn * 4 + 4, ::2] = turn
        world.Barrier()
with h5py.File("out.h5", "r", driver="mpio", comm=world) as file:
    file["together"][:, world.rank :: world.size]
"""
PARALLEL_HDF5 = """
#include <hdf5.h>
#include <mpi.h>
enum { ROWS = 64, COLUMNS = 1024 };
static double data[ROWS * COLUMNS];
static void write_columns(hid_t file, char const* name, hid_t creation, int rank, int ranks) {
    hsize_t const shape[] = {ROWS, COLUMNS}, start[] = {0, rank}, stride[] = {1, ranks};
    hsize_t const count[] = {ROWS, COLUMNS / ranks};
    hid_t const space = H5Screate_simple(2, shape, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t const set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    hid_t const way = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(way, H5FD_MPIO_COLLECTIVE);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    for (int i = 0; i < ROWS * COLUMNS; ++i) data[i] = rank;
    H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, way, data);
    H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, way, data);
    H5Pclose(way), H5Dclose(set), H5Sclose(memory), H5Sclose(space);
}
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    hid_t const access = H5Pcreate(H5P_FILE_ACCESS), chunked = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hsize_t const chunk[] = {16, COLUMNS};
    H5Pset_chunk(chunked, 2, chunk);
    hid_t const file = H5Fcreate("out.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    write_columns(file, "rows", H5P_DEFAULT, rank, ranks);
    write_columns(file, "chunks", chunked, rank, ranks);
    H5Fclose(file);
    return MPI_Finalize();
}
"""


@dataclass(frozen=True)
class Screened:
    name: str
    source: str
    needs: str = ""
    """The Python package that it imports, beside the interpreter of the tests."""
    mpi: Mpi | None = None
    is_c: bool = False
    is_quick: bool = False
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def _program(self, folder: Path) -> list[object]:
        if not self.is_c:
            return [sys.executable if self.mpi is None else SYSTEM_PYTHON, "-c", self.source]
        assert self.mpi is not None
        flags = self.mpi.flags_of_hdf5() if "hdf5.h" in self.source else ()
        return [compile_c(folder, self.source, *flags, compiler=shutil.which(self.mpi.compiler))]

    def words(self, folder: Path) -> list[object]:
        """Returns the program and its arguments, without the launcher of an MPI. Skips where a part is missing."""
        if self.needs and importlib.util.find_spec(self.needs) is None:
            pytest.skip(f"there is no {self.needs}")
        if self.mpi is not None:
            self.mpi.skip_if_missing()
            if not self.is_c:
                self._skip_without_h5py_over_mpi()
        return [*self._program(folder), *self.arguments]

    def _skip_without_h5py_over_mpi(self) -> None:
        assert self.mpi is not None
        asks = "from mpi4py import MPI; import h5py; assert h5py.get_config().mpi"
        line = [str(each) for each in self.mpi.command(1, SYSTEM_PYTHON, "-c", asks)]
        if subprocess.run(line, env=self.mpi.variables(), check=False, capture_output=True).returncode:
            pytest.skip("there is no h5py over MPI: Debian's python3-h5py-mpi has it")


PROGRAMS = (
    Screened("h5py, wheel", H5PY, needs="h5py", is_quick=True),
    Screened("netCDF4, wheel", NETCDF, needs="netCDF4"),
    Screened("h5py over Open MPI, OMPIO", H5PY_OVER_MPI, mpi=OPEN_MPI_ALONE),
    Screened("h5py over Open MPI, romio321", H5PY_OVER_MPI, mpi=ROMIO),
    Screened("MPI-IO in C, MPICH", judged_campaign.PROGRAM, mpi=MPICH, is_c=True, arguments=("out.bin",)),
    Screened("parallel HDF5 in C, MPICH", PARALLEL_HDF5, mpi=MPICH, is_c=True),
)
