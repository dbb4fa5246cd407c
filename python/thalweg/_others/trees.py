"""TTrees, the older tables of ROOT, behind the interface of a run: read by uproot, where it is installed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import numpy.typing as npt

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._others.tree_types import NoTypeError, name_of, strings_in, type_of, values_of
from thalweg._reading.origin import closed_reader
from thalweg._reading.run import Run
from thalweg._reading.table import Table, check_batches, selected_row
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type
from thalweg._values.from_others import plain
from thalweg._values.ragged import Text
from thalweg._values.row_groups import Unit
from thalweg._values.rows import Rows

_CLASSES = ("TTree", "TNtuple", "TNtupleD")


class TreeTable(Table):
    """A TTree. Its branches are read one after the other, by one thread: `threads` is not used."""

    def __init__(self, path: str, tree: Any, schema: TableSchema, branches: Mapping[str, Any], lock: Any) -> None:
        self.schema = schema
        self._path = path
        self._tree = tree
        self._branches = branches
        self._lock = lock

    def __len__(self) -> int:
        return int(self._tree.num_entries)

    def close(self) -> None:
        self._tree = closed_reader(self._path)

    def _file(self) -> tuple[str, str, bool]:
        return self._path, "", False

    def storage(self) -> list[tuple[int, int]]:
        return [(int(branch.uncompressed_bytes), 0) for branch in self._branches.values()]

    def page_ends(self, most: int) -> Iterator[list[int]]:
        """Of its baskets."""
        branches = list(self._branches.values())
        for branch in branches[:: max(1, -(-len(branches) // most))]:
            yield [int(end) for end in branch.entry_offsets[1:]]

    def _stretch(
        self,
        columns: str | list[str] | None,
        start: int,
        stop: int,
        threads: int,  # noqa: ARG002
        out: Mapping[str, npt.NDArray[Any]],
    ) -> Rows:
        if out:
            raise UsageError(f"TTree '{self.name}' cannot be read into `out` (uproot makes arrays of its own)")
        row = selected_row(self.schema, columns)
        return Rows(row, {name: self._values(name, type_, start, stop) for name, type_ in row.members}, stop - start)

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = 64 << 20,
        threads: int = 0,  # noqa: ARG002
    ) -> Iterator[Rows]:
        """As of any table, with batches of so many rows as take the memory in the mean."""
        check_batches(rows, memory_bytes)
        names = columns if columns is None or isinstance(columns, str) else list(columns)
        if memory_bytes is not None:
            fields = selected_row(self.schema, names).members
            all_rows = sum(int(self._branches[name].uncompressed_bytes) for name, _ in fields)
            rows = max(1, min(rows, memory_bytes * len(self) // max(1, all_rows)))
        for start in range(0, len(self), rows):
            yield self.read(names, rows=slice(start, start + rows))

    def _values(self, name: str, type_: Type, start: int, stop: int) -> Any:
        branch = self._branches[name]
        try:
            with self._lock:
                return _read(branch, type_, start, stop)
        except Exception as error:
            where = f"{self._path}: rows {start} to {stop} of branch '{branch.name}' of TTree '{self.name}'"
            raise DataError(f"{where} cannot be read ({type(error).__name__}: {error})") from error


class TreeRun(Run):
    """The TTrees of a file of ROOT, and behind them what it has of RNTuples."""

    def __init__(self, path: str, file: Any, core: _core.Reader | None) -> None:
        self._name = path
        self._file = file
        self._tables = WeakSet()
        self._others = Run(core) if core else None
        self._lock = threading.Lock()  # uproot's files are read by one thread at a time
        self._left_out: list[LeftOut] = []
        self._trees: dict[str, TreeTable] = {}
        for name in tree_names(file):
            self._add(name)
        others = self._others.schema.tables if self._others else ()
        self._schema = Schema((*others, *(table.schema for table in self._trees.values())))

    def _add(self, name: str) -> None:
        tree = self._file[name]
        fields: dict[str, Type] = {}
        branches = {}
        for path, branch in _leaves(tree):
            try:
                field = _free_name(path, fields)
                fields[field] = _type_of(branch)
                branches[field] = branch
            except NoTypeError as error:
                self._left_out.append(LeftOut(f"{name}/{path}", str(error)))
        title = tree.title if tree.title != tree.name else ""
        if fields:
            schema = TableSchema(name, tuple(fields.items()), title)
            self._trees[name] = TreeTable(self._name, tree, schema, branches, self._lock)
        else:
            self._left_out.append(LeftOut(name, "no branch of this TTree can be read"))

    @property
    def metadata(self) -> dict[str, str]:
        return self._others.metadata if self._others else {}

    @property
    def problems(self) -> tuple[LeftOut, ...]:
        others = self._others.problems if self._others else ()
        trees = set(tree_names(self._file))
        return (*(each for each in others if each.path not in trees), *self._left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        return self._others.notes if self._others else ()

    @property
    def id(self) -> str:
        return ""

    @property
    def keys_per_group(self) -> int:
        return 0

    @property
    def knobs(self) -> dict[str, Any]:
        return {}

    @property
    def path(self) -> str:
        return self._name

    @property
    def units(self) -> tuple[Unit, ...]:
        return ()

    @property
    def is_open(self) -> bool:
        return False

    def close(self) -> None:
        super().close()
        for tree in self._trees.values():
            tree.close()
        self._file.close()

    def _table(self, name: str) -> Table:
        return self._trees[name] if name in self._trees or not self._others else self._others[name]


def open_trees(uproot: Any, path: str, core: _core.Reader | None) -> Run | None:
    """None where there are none, or uproot cannot open the file. `core`: its RNTuples, where these can be read."""
    try:
        file = uproot.open({path: None})  # a path alone may be taken apart at a colon
    except Exception:
        return None
    if not tree_names(file) or (core is None and "ROOT::RNTuple" in file.classnames().values()):
        return None
    return TreeRun(path, file, core)


def tree_names(file: Any) -> list[str]:
    classes = file.classnames(cycle=False)
    return [name for name, class_name in classes.items() if class_name in _CLASSES]


def _leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Branches that have values of their own, with their paths."""
    for path, branch in tree.iteritems(recursive=True):
        if not branch.branches:
            yield path, branch


def _free_name(path: str, taken: Mapping[str, Type]) -> str:
    """The last part of a branch's path, and where that is taken the whole."""
    for name in (name_of(path.rpartition("/")[2]), name_of(path)):
        if name not in taken:
            return name
    raise NoTypeError("its name is that of another branch")


def _type_of(branch: Any) -> Type:
    interpretation = branch.interpretation
    what = str(interpretation).partition("\n")[0]
    if what.startswith("AsObjects(") and "Model_" in what:
        # uproot goes through their bytes by what the file says of the class, and may take all memory if that is wrong.
        raise NoTypeError(f"it holds objects streamed by ROOT, {what}")
    try:
        type_ = type_of(interpretation.awkward_form(branch.file))
        if not _is_plain(interpretation):
            _read(branch, type_, 0, 1)  # uproot knows only then whether it can
    except NoTypeError:
        raise
    except Exception as error:
        raise NoTypeError(f"uproot cannot read it, as {what}: {type(error).__name__}") from error
    is_leaf_list = branch.title.startswith(branch.name)  # "x/F"; anything else is meant for people
    return replace(type_, description="" if is_leaf_list else branch.title)


def _read(branch: Any, type_: Type, start: int, stop: int) -> Any:
    strings = branch.interpretation
    if type(strings).__name__ == "AsStrings" and strings.length_bytes == "1-5":
        return _read_strings(branch, start, stop)
    return values_of(type_, branch.array(entry_start=start, entry_stop=stop, library="ak"))


def _read_strings(branch: Any, start: int, stop: int) -> Text:
    """From their bytes: where an empty string takes none of them, uproot (up to 5.7) gives wrong ones behind it."""
    import uproot

    as_bytes = uproot.AsJagged(uproot.AsDtype("u1"), branch.interpretation.header_bytes)
    items = plain(branch.array(as_bytes, entry_start=start, entry_stop=stop, library="ak"))
    return strings_in(items.offsets, items.content)


def _is_plain(interpretation: Any) -> bool:
    """Numbers, and lists of them behind each other: only damage keeps these from being read."""
    inner = getattr(interpretation, "content", interpretation)
    return type(interpretation).__name__ in ("AsDtype", "AsJagged") and type(inner).__name__ == "AsDtype"
