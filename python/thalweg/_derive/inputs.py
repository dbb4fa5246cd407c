"""The input of a job: tables with the same columns, in one or several files."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from thalweg._base.errors import DataError, UsageError
from thalweg._base.file_state import FileState
from thalweg._base.paths import Path, is_there
from thalweg._base.suggestion import likely
from thalweg._derive.carried import Beside
from thalweg._derive.clusters import page_ends
from thalweg._derive.large_summaries import TABLE
from thalweg._derive.opened import OpenInput, OpenInputs, opened_input, reopened
from thalweg._files.open import open  # noqa: A004
from thalweg._reading.origin import Origin
from thalweg._reading.run import Run
from thalweg._reading.table import Table
from thalweg._schema.attributes import Attributes, common_attributes
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type

_IDENTITY_BYTES = 1 << 16  # bytes at each end of a file that identify it


@dataclass(frozen=True)
class InputFile:
    path: str
    table: str
    rows: int
    raw_bytes: int
    ends: tuple[int, ...]
    """The rows at which pages of its columns end together."""
    clusters: tuple[int, ...]
    """The rows at which clusters end, if it is an RNTuple."""
    identity: str
    """The run that it holds. In a file of another program, a hash of its size, its time of modification, and its first
    and last bytes. Its path does not matter."""
    origin: Origin = field(repr=False)

    def open(self) -> Table:
        """Raises DataError if it is not the file with which the job was planned."""
        table: Table = self.origin.reopened()[self.table]
        return table

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "table": self.table, "rows": self.rows, "identity": self.identity}


@dataclass(frozen=True)
class Inputs:
    files: tuple[InputFile, ...]
    table: str
    fields: tuple[tuple[str, Type], ...]
    """The fields that all files have."""
    absent: dict[str, str]
    """All other columns, each with the reason why it is not among the fields."""
    attrs: Attributes = field(default_factory=Attributes)
    """The attributes of the table that all files have with the same value."""
    description: str = ""
    different: tuple[str, ...] = ()
    """The names of its other attributes."""
    opened: OpenInputs = field(default_factory=OpenInputs, compare=False, repr=False)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def raw_bytes(self) -> int:
        return sum(file.raw_bytes for file in self.files)

    missing: Mapping[str, Any] = field(default_factory=dict)
    """The values that stand for columns that a file lacks, by pattern."""
    lacking: tuple[frozenset[str], ...] = ()
    """The columns that each file lacks, and that another file has."""

    def fills_of(self, file: int) -> dict[str, tuple[Type, Any]]:
        """Returns the columns that a file lacks and that are filled, with type and value."""
        lacking = self.lacking[file] if self.lacking else frozenset()
        return {name: (type_, _fill(self.missing, name)) for name, type_ in self.fields if name in lacking}

    def notes(self) -> list[str]:
        """Returns a sentence for each file that lacks columns of other files."""
        fields, notes = dict(self.fields), []
        for file, lacking in zip(self.files, self.lacking, strict=False):
            for names, what in (
                (lacking & fields.keys(), "they are filled as missing= says"),
                (lacking - fields.keys(), "no function sees them; missing= fills them"),
            ):
                if names:
                    shown = ", ".join(sorted(names)[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
                    notes.append(f"{file.path} lacks columns that other files have ({shown}): {what}")
        return notes

    def kept(self, patterns: Sequence[str], output: str) -> list[str]:
        """Returns the columns that match. Raises UsageError if a pattern matches no column that can be read."""
        names = [name for name, _ in self.fields]
        there, found = set(names), set[str]()
        for pattern in patterns:
            if pattern in self.absent:
                raise UsageError(f"{output}: column '{pattern}' cannot be kept ({self.absent[pattern]})")
            # Most patterns are plain names, and there may be thousands of them.
            matching = {pattern} if pattern in there else {name for name in names if fnmatchcase(name, pattern)}
            absent = sorted(name for name in self.absent if fnmatchcase(name, pattern))
            if not matching and absent:
                raise UsageError(f"{output}: column '{absent[0]}' cannot be kept ({self.absent[absent[0]]})")
            if not matching:
                raise UsageError(
                    f"{output}: keep='{pattern}' matches no column of table '{self.table}' in {self.files[0].path}"
                )
            found |= matching
        return [name for name in names if name in found]

    def codec_of(self, names: Sequence[str]) -> str | None:
        """Returns the codec of columns of the first file, with which pages can be copied, or None if none can be."""
        first = self.files[0]
        kept = self.opened.kept(first)
        each = kept or reopened(first)
        codec = each.stored.codec_of(list(names)) if each.stored else None
        if kept is None:
            each.run.close()
        return codec

    def left_out(self, patterns: Sequence[str]) -> list[LeftOut]:
        """Returns the columns that match and cannot be read."""
        found = ((name, why) for name, why in self.absent.items() if any(fnmatchcase(name, each) for each in patterns))
        return [LeftOut(f"{self.table}/{name}", why) for name, why in found]


def open_inputs(
    inputs: Path | Iterable[Path], missing: Mapping[str, Any] | None = None, beside: Beside | None = None
) -> Inputs:
    """Opens the input: "file", "file:Table", a pattern such as "data/*.root:Events", or several of these.

    `beside` looks through all files.

    Raises UsageError if there is no such input, or if the tables of several files do not fit together.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    if not given:
        raise UsageError("the job has no input: give a file, a pattern, or a list of these")
    files: list[InputFile] = []
    schemas: list[TableSchema] = []
    problems: dict[str, str] = {}
    kept = OpenInputs()
    for each in given:
        for path, table in _files_of(os.fspath(each)):
            run = open(path)
            name = _table_of(run, path, table)
            each_input = opened_input(run, name)
            files.append(_described(path, each_input, run.origin))
            if beside is not None:
                beside.look(run, (name, TABLE))
            schema = run.schema[name]
            schemas.append(next((other for other in schemas[-1:] if other == schema), schema))  # one object for all
            # Paths in HDF5 begin with a slash.
            found = ((problem.path.removeprefix("/"), problem.why) for problem in run.problems)
            problems.update({path.removeprefix(f"{name}/"): why for path, why in found if path.startswith(f"{name}/")})
            kept.keep_or_close(path, each_input)
    _check_different(files)
    fields, absent, lacking = _common(files, schemas, missing or {})
    attrs, different = common_attributes([each.attrs for each in schemas])
    about = schemas[0].description if len({each.description for each in schemas}) == 1 else ""
    return Inputs(
        tuple(files),
        files[0].table,
        fields,
        {**problems, **absent},
        attrs,
        about,
        different,
        kept,
        dict(missing or {}),
        lacking,
    )


def _check_different(files: Sequence[InputFile]) -> None:
    """Raises UsageError if two inputs are one table of one file, whatever their paths are."""
    seen: dict[tuple[int, int, str], str] = {}
    for each in files:
        state = FileState.of(os.stat(each.path))
        key = state.device, state.inode, each.table
        if first := seen.get(key):
            other = "" if first == each.path else f", also as {first}"
            raise UsageError(f"{each.path} is given twice as input{other} (its events would count twice): give it once")
        seen[key] = each.path


def _files_of(given: str) -> list[tuple[str, str | None]]:
    path, colon, table = given.rpartition(":")
    if is_there(given) or not colon or "/" in table:
        path, table = given, ""
    paths = sorted(glob.glob(path)) if glob.has_magic(path) and not is_there(path) else [path]
    if not paths:
        raise UsageError(f"no file matches {path}")
    return [(each, table or None) for each in paths]


def _table_of(run: Run, path: str, name: str | None) -> str:
    if run.is_open:
        raise UsageError(
            f"{path} is not complete (it is being written, or its writers have ended): close it, or complete it with "
            "`thalweg recover`"
        )
    tables = [each for each in run if each != TABLE]
    if name is None and len(tables) > 1:
        some = ", ".join(tables[:8])
        raise UsageError(f"{path} has several tables ({some}): give one, for example '{path}:{tables[0]}'")
    if name is not None and name not in run:
        raise UsageError(f"{path} has no table '{name}'{likely(name, run)}; its tables are {', '.join(list(run)[:8])}")
    return name or tables[0]


def _described(path: str, each: OpenInput, origin: Origin) -> InputFile:
    table = each.table
    try:
        raw_bytes = sum(size for size, _ in table.storage())
        ends, clusters = tuple(page_ends(table)), tuple(each.stored.ends if each.stored else ())
        return InputFile(path, table.name, len(table), raw_bytes, ends, clusters, _identity(path, origin), origin)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from error


def _identity(path: str, origin: Origin) -> str:
    status = os.stat(path)
    size = status.st_size
    what = f"{size} {origin.id or status.st_mtime_ns}"  # the id stays if a run is copied, the time may not
    digest = hashlib.blake2b(what.encode(), digest_size=16)
    with FilePath(path).open("rb") as file:
        digest.update(file.read(_IDENTITY_BYTES))
        file.seek(max(0, size - _IDENTITY_BYTES))
        digest.update(file.read(_IDENTITY_BYTES))
    return digest.hexdigest()


def _common(
    files: Sequence[InputFile], schemas: Sequence[TableSchema], missing: Mapping[str, Any]
) -> tuple[tuple[tuple[str, Type], ...], dict[str, str], tuple[frozenset[str], ...]]:
    """Returns the fields of all files, other columns with the reason why they are absent, and what each file lacks."""
    first: dict[str, tuple[Type, InputFile]] = {}
    for file, schema in zip(files, schemas, strict=True):
        for name, type_ in schema.fields:
            there, other = first.setdefault(name, (type_, file))
            if there is not type_ and there.bare() != type_.bare():
                raise UsageError(
                    f"{file.path}: column '{name}' of table '{file.table}' is {type_}, but {there} in {other.path}: "
                    "derive from these files in separate jobs"
                )
    lacking = tuple(frozenset(first.keys() - {name for name, _ in schema.fields}) for schema in schemas)
    absent: dict[str, str] = {}
    for file, names in zip(files, lacking, strict=True):
        for name in names:
            if _is_filled(missing, name):
                _check_fill(name, first[name][0], _fill(missing, name))
            else:
                absent.setdefault(name, f"{file.path} does not have it")
    fields = tuple((name, type_) for name, (type_, _) in first.items() if name not in absent)
    return fields, dict(sorted(absent.items())), lacking


def _is_filled(missing: Mapping[str, Any], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in missing)


def _fill(missing: Mapping[str, Any], name: str) -> Any:
    return next(value for pattern, value in missing.items() if fnmatchcase(name, pattern))


def _check_fill(name: str, type_: Type, value: Any) -> None:
    """Raises UsageError if a value does not stand for a column."""
    if not type_.is_scalar or type_.shape:
        raise UsageError(f"missing: column '{name}' is {type_}, and only numbers can be filled: leave it out")
    try:
        is_same = np.isscalar(value) and bool(np.array(value, type_.dtype) == value or value != value)
    except (TypeError, ValueError, OverflowError):
        is_same = False
    if not is_same:
        raise UsageError(f"missing: {value!r} is no value of column '{name}', which is {type_}: give one")
