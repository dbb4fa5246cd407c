"""HDF5 files of other programs. If h5py is installed, it reads the objects that the page map cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import PurePath
from typing import Any, Self

import h5py
import numpy as np

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.file_state import FileState
from thalweg._others.hdf5_column import NOT_SHOWN, H5Column, value_of
from thalweg._others.hdf5_objects import (
    H5Source,
    NotFoundError,
    attribute_in,
    axes_of_histogram,
    class_of,
    find_object,
    open_dataset,
)
from thalweg._others.hdf5_plan import H5Plan
from thalweg._others.hdf5_sources import sources_of
from thalweg._others.hdf5_table import H5Table
from thalweg._others.tree_types import NoTypeError
from thalweg._reading.run import Run
from thalweg._reading.stored_run import StoredRun
from thalweg._reading.stored_table import StoredTable
from thalweg._reading.table import Table
from thalweg._schema.left_out import LeftOut, problems_of

# The page map leaves such objects out for reasons that hold for h5py, too.
_NEVER_TRIED = ("it says that it has ", "it is a link ", "it is nested too deeply", "another program has added it")

_SCALAR = object()

# The possible owners of an attribute: the object that has it in the file, and what that object lies in.
_OWN, _ABOVE, _OWN_OR_ABOVE = (True, False), (False, True), (True, True)
_NO_OWNER = "its object is no column and no group of its own, and nothing that it lies in can have the attribute"


class H5Run(StoredRun):
    """A run that is partly read by h5py."""

    def __init__(self, core: _core.Reader, open_: Callable[[str], Run], source: H5Source, file: h5py.File) -> None:
        """`file`: the open source; it is closed after the construction."""
        super().__init__(core, open_)
        self._source = source
        self._file = file
        self._stored = self._schema
        self._left_out: list[LeftOut] = []
        self._h5py_notes: list[str] = []
        rows = {name: core.rows(index) for index, name in enumerate(self._stored)}
        self._plan = H5Plan(self._stored, rows, self._root())
        nameless = {each.path for each in core.left_out if each.reason == _core.LeftOutReason.group_name}
        found = [(each, self._found(each)) for each in problems_of(core.left_out)]
        columns = [object_ for _, object_ in found if isinstance(object_, H5Column)]
        failed = self._plan.add(columns)
        self._left_out += [LeftOut(path, why) for path, why in failed]
        for problem, object_ in found:
            if object_ is _SCALAR:
                self._add_scalar(problem)
            if attribute := attribute_in(problem.path):
                self._add_old_attributes(problem, *attribute, _OWN_OR_ABOVE if problem.path in nameless else _OWN)
            elif (not isinstance(object_, H5Column) or problem.path in dict(failed)) and self._is_no_group(
                problem.path
            ):
                lost = LeftOut(f"the attributes of {problem.path}", _NO_OWNER)
                self._add_old_attributes(lost, None, problem.path, _ABOVE)
        for path, name, value in self._plan.homeless:
            problem = LeftOut(f"the attribute '{name}' of {path}", _NO_OWNER)
            self._add_attribute(problem, path, name, value, _OWN_OR_ABOVE)
        self._schema = self._plan.schema()
        del self._file

    @property
    def problems(self) -> tuple[LeftOut, ...]:
        return tuple(self._left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*super().notes, *self._h5py_notes)

    def refresh(self) -> Self:
        if self.is_open:
            raise UsageError(
                f"{self.path} cannot be refreshed (another program writes it): open it again to read newer rows"
            )
        return self

    def _table(self, name: str) -> Table:
        schema, planned = self._schema[name], self._plan.tables[name].columns
        index = self._stored.index(name) if name in self._stored else None
        columns = [] if index is None else self._columns[index]
        if planned:
            return H5Table(self._core, self.origin, schema, index, columns, planned)
        assert index is not None
        return StoredTable(self._core, self.origin, schema, index, columns)  # the schema may have more attributes

    def _root(self) -> str:
        """Returns the name that the page map gives, or would give, to the table of datasets that are in no group."""
        stem = PurePath(self.path).name.partition(".")[0]
        for name in self._stored:
            if name.rstrip("_") in (stem, "root") and not self._is_group(name, self._stored[name]):
                return name
        free = "root"
        for name in (stem, free):
            if name and self._file["/"].get(name, getlink=True) is None:
                return name
        while self._file["/"].get(free, getlink=True) is not None:
            free += "_"
        return free

    def _is_group(self, path: str, fields: Iterable[str]) -> bool:
        """Returns whether the path is that of a group that has all these fields."""
        try:
            group = find_object(self._file, path)
        except NotFoundError:
            return False
        return isinstance(group, h5py.Group) and all(group.get(name, getlink=True) is not None for name in fields)

    def _found(self, problem: LeftOut) -> H5Column | object | None:
        """Returns the column that h5py reads there, `_SCALAR` for a dataset without rows, or None.

        An object that is neither stays left out; attributes are read elsewhere.
        """
        if attribute_in(problem.path):
            return None
        members: list[LeftOut] = []
        notes: list[str] = []
        try:
            kind = None if problem.why.startswith(_NEVER_TRIED) else class_of(self._file, problem.path)
            if kind is h5py.Datatype:  # it holds no values
                return None
            if kind is not h5py.Dataset:
                raise NoTypeError(problem.why)
            if open_dataset(self._file, problem.path).shape in ((), None):
                return _SCALAR
            if axes := axes_of_histogram(self._file, problem.path):
                group, _, name = problem.path.rpartition("/")
                self._plan.add_attribute(group, name, np.array(axes, object))
                return None
            column = H5Column(problem.path, self._source, lambda path, why: members.append(LeftOut(path, why)), notes)
        except NotFoundError:
            self._left_out.append(problem)
        except NoTypeError as error:
            self._left_out.append(LeftOut(problem.path, str(error)))
        except Exception as error:
            why = f"{problem.why}; h5py cannot read it, either ({type(error).__name__}: {error})"
            self._left_out.append(LeftOut(problem.path, why))
        else:
            self._left_out += members
            self._h5py_notes += notes
            return column
        return None

    def _add_scalar(self, problem: LeftOut) -> None:
        """Adds a dataset without rows as an attribute of its group."""
        group, _, name = problem.path.rpartition("/")
        try:
            dataset = open_dataset(self._file, problem.path)
            with sources_of(self._file, dataset, self._source.folders).held(self._file):
                value = dataset[()]
            self._plan.add_attribute(group, name, value_of(value, dataset.dtype))
        except Exception as error:
            why = f"{problem.why}; it cannot be an attribute of its group, either ({type(error).__name__}: {error})"
            self._left_out.append(LeftOut(problem.path, why))

    def _is_no_group(self, path: str) -> bool:
        """Returns whether there is a dataset or a named type. The page map reads the attributes of groups."""
        try:
            return class_of(self._file, path) is not h5py.Group
        except Exception:
            return False

    def _add_old_attributes(self, problem: LeftOut, name: str | None, path: str, owners: tuple[bool, bool]) -> None:
        """Adds an attribute that the page map leaves out; without a name, all attributes of the object."""
        try:
            attrs = find_object(self._file, path).attrs
            names = [each for each in attrs if each not in NOT_SHOWN] if name is None else [name]
        except NotFoundError:  # the link itself is left out
            return
        except Exception:
            self._left_out.append(problem)
            return
        for each in names:
            one = LeftOut(f"the attribute '{each}' of {path}", problem.why)
            try:
                value = value_of(attrs[each], attrs.get_id(each).dtype)
            except Exception:
                self._left_out.append(one)
            else:
                self._add_attribute(one, path, each, value, owners)

    def _add_attribute(self, problem: LeftOut, path: str, name: str, value: Any, owners: tuple[bool, bool]) -> None:
        may_be_own, may_be_above = owners
        ways = [self._plan.add_attribute] * may_be_own + [self._plan.add_attribute_above] * may_be_above
        for add in ways:
            try:
                add(path, name, value)
            except (NoTypeError, UsageError):
                continue
            return
        self._left_out.append(problem)


def open_with_h5py(core: _core.Reader, open_: Callable[[str], Run], external: Iterable[str] = ()) -> Run | None:
    """Returns the run, or None if Thalweg has written the file or h5py cannot open it.

    `external`: other folders that may hold values. Damaged metadata can make h5py raise any error anywhere: then the
    result is None, and the page map alone shows the file.
    """
    state = FileState(*core.state) if core.state else None
    source = H5Source(core.path, external, state, may_grow=core.is_open_run)
    with ExitStack() as stack:
        try:
            file = stack.enter_context(source.opened())
            return None if "/thalweg/run" in file else H5Run(core, open_, source, file)
        except DataError:  # it is another file by now
            raise
        except Exception:
            return None
