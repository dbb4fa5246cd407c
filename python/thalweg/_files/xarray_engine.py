"""The engine of xarray: `xarray.open_dataset("run.h5", engine="thalweg", group="ch0")`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from thalweg._base.errors import UsageError
from thalweg._files.open import open as open_run
from thalweg._reading.column import Column
from thalweg._reading.run import Run
from thalweg._reading.table import Table


class XarrayEngine(BackendEntrypoint):
    """Opens one table of a file, complete or open, HDF5 or RNTuple. Values are read when they are used."""

    description = "Tables of HDF5 and ROOT RNTuple files, also while they are written"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "group")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
    ) -> Dataset:
        """`group`: the table; not needed if there is only one. Lists of different lengths are left out with a warning,
        since no variable can have them."""
        run = open_run(filename_or_obj)
        try:
            table = _table(run, group)
            columns = _columns(
                table, {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
            )
            data = Dataset({column.name: _variable(column) for column in columns}, attrs=dict(table.attrs))
        except BaseException:
            run.close()
            raise
        data.set_close(run.close)
        return data

    def guess_can_open(self, filename_or_obj: Any) -> bool:  # noqa: ARG002
        """Other engines open complete HDF5 files, too: this one is named."""
        return False


class _Values(BackendArray):
    def __init__(self, column: Column) -> None:
        self._column = column
        self.shape, self.dtype = column.shape, column.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> Any:
        return np.asarray(self._column[key])


def _table(run: Run, group: str | None) -> Table:
    if group is None and len(run) != 1:
        raise UsageError(f"{run.path} has several tables, or none: choose one with group= ({', '.join(run)})")
    return run[next(iter(run)) if group is None else group]


def _columns(table: Table, dropped: set[str]) -> list[Column]:
    """Returns the columns without members that variables can have."""
    kept = [table[path] for path in table.columns if path not in dropped]
    values = [column for column in kept if not column.type.members]
    if lists := ", ".join(column.name for column in values if column.is_ragged):
        warnings.warn(
            f"{table.name}: {lists} left out (lists of different lengths): read them with tw.open", stacklevel=4
        )
    return [column for column in values if not column.is_ragged]


def _variable(column: Column) -> Variable:
    inner = [f"{column.name}_{axis}" for axis in range(1, column.ndim)]
    return Variable(["row", *inner], indexing.LazilyIndexedArray(_Values(column)), dict(column.attrs))
