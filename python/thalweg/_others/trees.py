"""TTrees, the older tables of ROOT, with the interface of a run. If uproot is installed, it reads them."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy.typing as npt
import uproot

from thalweg._base.errors import DataError, UsageError
from thalweg._base.file_state import HeldFile
from thalweg._others.tree_file import opened_by_uproot
from thalweg._others.tree_types import NoTypeError, field_name_of, strings_in, type_of_form, values_of_array
from thalweg._reading.asked import BATCH_BYTES, check_batches, listed, selected_row
from thalweg._reading.gather import read_chosen
from thalweg._reading.origin import Origin
from thalweg._reading.run import Run
from thalweg._reading.stored_run import StoredRun
from thalweg._reading.table import Table
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type
from thalweg._values.from_others import plain
from thalweg._values.ragged import Text
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen

_CLASSES = ("TTree", "TNtuple", "TNtupleD")
_LEAVES = frozenset(f"TLeaf{letter}" for letter in "BSILFDO")
_DIMENSIONS = re.compile(r"\[([0-9]+)\]")

Leaf: TypeAlias = tuple[str, int, bool, bool, tuple[str, ...]]
_known_types: dict[Leaf, Type] = {}  # finding a type takes longer than reading a branch
_described_types: dict[tuple[Type, str], Type] = {}


class TreeTable(Table):
    """A TTree. One thread reads its branches one after the other, so `threads` has no effect."""

    def __init__(
        self,
        origin: Origin,
        tree: Any,
        schema: TableSchema,
        branches: Mapping[str, Any],
        lock: threading.Lock,
        held: HeldFile,
    ) -> None:
        super().__init__(schema, origin)
        self._held = held
        self._tree = tree
        self._branches = branches
        self._lock = lock
        self._is_closed = False

    def __len__(self) -> int:
        self._check_is_open()
        return int(self._tree.num_entries)

    def close(self) -> None:
        self._is_closed = True

    def _check_is_open(self) -> None:
        if self._is_closed:
            raise self.origin.closed()

    @property
    def by_uproot(self) -> Mapping[str, Any]:
        return self._branches

    @property
    def survives_fork(self) -> bool:
        return True

    def storage(self) -> list[tuple[int, int]]:
        self._check_is_open()
        return [(int(branch.uncompressed_bytes), 0) for branch in self._branches.values()]

    def page_ends(self, most: int) -> Iterator[list[int]]:
        """Yields the rows at which baskets end, which are the pages of a branch."""
        self._check_is_open()
        branches = list(self._branches.values())
        for branch in branches[:: max(1, -(-len(branches) // most))]:
            yield [int(end) for end in branch.entry_offsets[1:]]

    def _read(
        self,
        columns: str | list[str] | None,
        chosen: Chosen,
        threads: int,  # noqa: ARG002
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> Rows:
        if out:
            raise UsageError(f"TTree '{self.name}' cannot be read into `out` (uproot makes new arrays): leave out= out")
        members = selected_row(self.schema, columns)

        def stretch(start: int, stop: int, _: object) -> Rows:
            values = {name: self._values(name, type_, start, stop) for name, type_ in members.members}
            return Rows(members, values, stop - start)

        return read_chosen(self, stretch, chosen, {})

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = BATCH_BYTES,
        threads: int = 0,  # noqa: ARG002
    ) -> Iterator[Rows]:
        """Yields the rows in batches, whose values take `memory_bytes` on average."""
        check_batches(rows, memory_bytes)
        names = listed(columns)
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
                self._held.check()
                values = _read(branch, type_, start, stop)
                self._held.check()
                return values
        except DataError:
            raise
        except Exception as error:
            where = f"{self.origin.path}: rows {start} to {stop} of branch '{branch.name}' of TTree '{self.name}'"
            raise DataError(f"{where} cannot be read ({type(error).__name__}: {error})") from error


class TreeRun(Run):
    """The RNTuples and TTrees of a file of ROOT."""

    def __init__(self, origin: Origin, file: Any, others: StoredRun, held: HeldFile) -> None:
        """`others` has the RNTuples, and names all other objects."""
        self._file = file
        self._held = held
        self._others = others
        self._lock = threading.Lock()  # uproot's files are read by one thread at a time
        self._left_out: list[LeftOut] = []
        self._trees: dict[str, TreeTable] = {}
        self._names = frozenset(tree_names(file))
        for name in tree_names(file):
            try:
                self._add(origin, name)
            except Exception as error:  # damage, or a compression that uproot does not know
                self._left_out.append(LeftOut(name, f"uproot cannot open this TTree ({type(error).__name__}: {error})"))
        super().__init__(origin, Schema((*others.schema.tables, *(table.schema for table in self._trees.values()))))

    def _add(self, origin: Origin, name: str) -> None:
        tree = self._file[name]
        fields: dict[str, Type] = {}
        branches = {}
        for path, branch in _leaves(tree):
            try:
                field = _free_name(path, fields)
                _check_rows(branch, int(tree.num_entries))
                fields[field] = _type_of(branch)
                branches[field] = branch
            except NoTypeError as error:
                self._left_out.append(LeftOut(f"{name}/{path}", str(error)))
        title = tree.title if tree.title != tree.name else ""
        longest = max((int(each.num_entries) for each in branches.values()), default=0)
        if longest > tree.num_entries:
            why = f"the TTree has {tree.num_entries} rows, but branches with up to {longest}"
            self._left_out.append(LeftOut(f"the end of {name}", f"{why}, which are not read beyond its rows"))
        if fields:
            schema = TableSchema(name, tuple(fields.items()), title)
            self._trees[name] = TreeTable(origin, tree, schema, branches, self._lock, self._held)
        else:
            self._left_out.append(LeftOut(name, "no branch of this TTree can be read"))

    @property
    def metadata(self) -> dict[str, str]:
        self._check_is_open()
        return self._others.metadata

    @property
    def problems(self) -> tuple[LeftOut, ...]:
        self._check_is_open()
        return (*(each for each in self._others.problems if each.path not in self._names), *self._left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        self._check_is_open()
        return self._others.notes

    def close(self) -> None:
        super().close()
        self._others.close()
        for tree in self._trees.values():
            tree.close()
        self._file.close()
        self._held.close()

    def _table(self, name: str) -> Table:
        return self._trees[name] if name in self._trees else self._others[name]


def open_trees(others: StoredRun, open_: Callable[[str], Run]) -> Run:
    """Returns the TTrees of a file together with its RNTuples, which `others` has.

    open_: the function that opens a path again.
    """
    with _without_collection():
        return _opened(others, open_)


def _opened(others: StoredRun, open_: Callable[[str], Run]) -> Run:
    path = others.path
    held = HeldFile(path)
    try:
        file = opened_by_uproot(held)
    except Exception as error:
        others.problems = tuple(_why_not(each, error) for each in others.problems)
        return others
    if others.origin.state:
        others.origin.state.check(held.state, path)
    run = TreeRun(Origin(path, "", False, open_, state=held.state), file, others, held)
    held.check()
    return run


def _why_not(problem: LeftOut, error: Exception) -> LeftOut:
    if not problem.why.startswith("it is a TTree"):
        return problem
    return LeftOut(problem.path, f"it is a TTree, and uproot cannot open the file ({type(error).__name__}: {error})")


@contextmanager
def _without_collection() -> Iterator[None]:
    """Stops the garbage collector. The thousands of objects of a tree are no garbage, and each search takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def tree_names(file: Any) -> list[str]:
    classes = file.classnames(cycle=False)
    return [name for name, class_name in classes.items() if class_name in _CLASSES]


def _leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yields the branches that hold values, with their paths."""
    for path, branch in tree.iteritems(recursive=True):
        if not branch.branches:
            yield path, branch


def _free_name(path: str, taken: Mapping[str, Type]) -> str:
    """Returns the last part of the path of a branch, or the whole path if that name is taken."""
    for name in (field_name_of(path.rpartition("/")[2]), field_name_of(path)):
        if name not in taken:
            return name
    raise NoTypeError("its name is that of another branch")


def _check_rows(branch: Any, rows: int) -> None:
    """Raises NoTypeError if a branch has fewer rows than its TTree, so that no value stands for the others."""
    if branch.num_entries < rows:
        raise NoTypeError(f"it has {branch.num_entries} rows, and the TTree has {rows}")


def _type_of(branch: Any) -> Type:
    key = _leaf_of(branch)
    type_ = _known_types.get(key) if key else None
    if type_ is None:
        type_ = _found_type(branch)
        if key:
            _known_types[key] = type_
    is_leaf_list = branch.title.startswith(branch.name)  # such as "x/F"; any other title is a description
    if is_leaf_list:
        return type_
    described = type_, branch.title
    if described not in _described_types:
        _described_types[described] = replace(type_, description=branch.title)
    return _described_types[described]


def _leaf_of(branch: Any) -> Leaf | None:
    """Returns what tells the type of a branch with numbers or lists of numbers; None for any other branch."""
    leaves = branch.member("fLeaves")
    if branch.classname != "TBranch" or len(leaves) != 1 or leaves[0].classname not in _LEAVES:
        return None
    (leaf,) = leaves
    is_list = leaf.member("fLeafCount") is not None
    shape = tuple(_DIMENSIONS.findall(leaf.member("fTitle")))
    return leaf.classname, leaf.member("fLen"), bool(leaf.member("fIsUnsigned")), is_list, shape


def _found_type(branch: Any) -> Type:
    interpretation = branch.interpretation
    what = str(interpretation).partition("\n")[0]
    if what.startswith("AsObjects(") and "Model_" in what:
        # uproot interprets their bytes by the file's description of the class. A wrong one may take all memory.
        raise NoTypeError(f"it holds objects streamed by ROOT, {what}")
    try:
        type_ = type_of_form(interpretation.awkward_form(branch.file))
        if getattr(getattr(interpretation, "content", None), "to_dims", ()):
            # uproot (up to 5.7) takes the numbers for the arrays, and returns what lies behind them in memory, too.
            raise NoTypeError(f"uproot reads lists of arrays of Float16_t and Double32_t wrongly, {what}")
        if not _is_plain(interpretation):
            tried = (
                1000 if type(interpretation).__name__ == "AsStrings" else 1
            )  # a later entry may hold several strings
            _read(branch, type_, 0, min(tried, branch.num_entries))  # only a read shows whether uproot can read it
    except NoTypeError:
        raise
    except Exception as error:
        why = str(error) if str(error) == "an entry holds several strings" else type(error).__name__
        raise NoTypeError(f"uproot cannot read it, as {what}: {why}") from error
    return type_


def _read(branch: Any, type_: Type, start: int, stop: int) -> Any:
    strings = branch.interpretation
    if type(strings).__name__ == "AsStrings" and strings.length_bytes == "1-5":
        return _read_strings(branch, start, stop)
    return values_of_array(type_, branch.array(entry_start=start, entry_stop=stop, library="ak"))


def _read_strings(branch: Any, start: int, stop: int) -> Text:
    """Reads strings by their bytes, since uproot (up to 5.7) returns wrong ones after an empty string without bytes."""
    as_bytes = uproot.AsJagged(uproot.AsDtype("u1"), branch.interpretation.header_bytes)
    items = plain(branch.array(as_bytes, entry_start=start, entry_stop=stop, library="ak"))
    return strings_in(items.offsets, items.content)


def _is_plain(interpretation: Any) -> bool:
    """Returns whether a branch holds numbers or lists of numbers: uproot reads these unless they are damaged."""
    inner = getattr(interpretation, "content", interpretation)
    return type(interpretation).__name__ in ("AsDtype", "AsJagged") and type(inner).__name__ == "AsDtype"
