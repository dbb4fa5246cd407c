"""HDF5 files as other programs write them: PyTables, pandas, NetCDF-4, lh5."""

import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

ROWS = 300
NUMBERS = np.arange(ROWS * 24).reshape(ROWS, 24) * 7 % 251


def pandas_fixed(path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"x": np.arange(ROWS), "y": np.arange(ROWS) / 2}).to_hdf(path, key="frame")


def pandas_table(path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(ROWS), "y": np.arange(ROWS) / 2, "t": ["word"] * ROWS})
    frame.to_hdf(path, key="frame", format="table")


def pandas_series(path: Path) -> None:
    import pandas as pd

    pd.Series(np.arange(ROWS) / 3).to_hdf(path, key="deep/series", complevel=5, complib="blosc")


def pytables_arrays(path: Path) -> None:
    import tables

    with tables.open_file(str(path), "w", title="arrays") as file:
        file.create_array("/", "plain", NUMBERS)
        file.create_array("/", "words", [b"a", b"bb"])
        for codec in ("zlib", "blosc", "bzip2", "lzo"):
            filters = tables.Filters(5, codec) if tables.which_lib_version(codec) else None
            file.create_carray("/", codec, obj=NUMBERS, filters=filters)
        file.create_earray("/", "grows", obj=NUMBERS[:, :3])


def pytables_lists(path: Path) -> None:
    import tables

    with tables.open_file(str(path), "w") as file:
        made = file.create_vlarray("/", "lists", tables.Int32Atom())
        for row in range(30):
            made.append(np.arange(row % 4))


def pytables_table(path: Path) -> None:
    import tables

    kind = np.dtype([("id", "<i8"), ("energy", "<f4"), ("wave", "<i2", (16,)), ("name", "S6")])
    with tables.open_file(str(path), "w") as file:
        made = file.create_table("/", "events", kind, filters=tables.Filters(5, "blosc:zstd"), createparents=True)
        made.append(np.zeros(ROWS, kind))
        made.flush()
        made.cols.id.create_index()


def netcdf(path: Path, form: Any = "NETCDF4") -> None:
    import netCDF4

    with netCDF4.Dataset(str(path), "w", format=form) as file:
        file.title = "a run"
        file.createDimension("time", None)
        file.createDimension("x", 4)
        file.createVariable("time", "f8", ("time",))[:] = np.arange(9)
        values = file.createVariable("values", "i2", ("time", "x"), zlib=True, fill_value=-1)
        values.units = "mV"
        values[:] = np.arange(36).reshape(9, 4)


def netcdf_classic(path: Path) -> None:
    netcdf(path, "NETCDF4_CLASSIC")


def netcdf_groups(path: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(str(path), "w") as file:
        inner = file.createGroup("one/two")
        inner.createDimension("n", 5)
        inner.createVariable("name", str, ("n",))[:] = np.array(list("abcde"), object)
        inner.createVariable("count", "u4", ("n",))[:] = np.arange(5)
        inner.createVariable("version", "i4")[...] = 7


def h5netcdf_file(path: Path) -> None:
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"t": 7, "c": 3}
        file.create_variable("wave", ("t", "c"), "f4", data=np.ones((7, 3)), compression="gzip")
        file.create_variable("t", ("t",), "i8", data=np.arange(7))
        file.attrs["made"] = "today"


def lh5(path: Path) -> None:
    from lgdo import Array, Table, VectorOfVectors
    from lh5 import write

    hits = VectorOfVectors([[1, 2], [], [3]], attrs={"units": "ns"})
    write(Table({"t": Array(np.arange(3.0)), "hits": hits}), "raw", str(path), group="ch0")


def stamped(path: Path) -> None:
    """Attributes as people write them."""
    with h5py.File(path, "w", track_order=True) as file:
        file["x"] = np.arange(ROWS)
        file["x"].attrs["when"] = datetime.datetime(2026, 1, 2).isoformat()
        file["x"].attrs["range"] = (0.5, 2)
        file["x"].attrs["flags"] = np.array([True, False])


PROGRAMS = {
    "pandas, fixed": pandas_fixed,
    "pandas, table": pandas_table,
    "pandas, series": pandas_series,
    "PyTables, arrays": pytables_arrays,
    "PyTables, lists": pytables_lists,
    "PyTables, table": pytables_table,
    "NetCDF-4": netcdf,
    "NetCDF-4, classic": netcdf_classic,
    "NetCDF-4, groups": netcdf_groups,
    "h5netcdf": h5netcdf_file,
    "lh5": lh5,
    "h5py, order of creation": stamped,
}
NEEDED = {"pandas": "tables", "PyTables": "tables", "NetCDF-4": "netCDF4", "h5netcdf": "h5netcdf"}


def make_by_program(kind: str, path: Path) -> None:
    if module := NEEDED.get(kind.partition(",")[0]):
        pytest.importorskip(module)
    PROGRAMS[kind](path)
