"""Events whose columns are read when they are first used: Awkward arrays with virtual buffers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from thalweg._reading.table import Table
from thalweg._schema.types import Type
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows

_KEY = "{form_key}|{attribute}"
_BASE_CLASS = re.compile(r":_[0-9]+")


class LazyRows:
    """Rows [start, stop) of a table. `used` collects the paths of the columns that were read."""

    def __init__(
        self, table: Table, start: int, stop: int, used: set[str], fills: Mapping[str, tuple[Type, Any]] | None = None
    ) -> None:
        self.table = table
        self._fills = fills or {}  # the columns that the table lacks, with the value that stands for each
        self._between = start, stop
        self._used = used
        self._kept: dict[str, Rows] = {}

    def __len__(self) -> int:
        return self._between[1] - self._between[0]

    @property
    def start(self) -> int:
        return self._between[0]

    def rows(self, path: str) -> Rows:
        """Returns the rows with only that column."""
        if path in self._fills:
            type_, value = self._fills[path]
            filled = np.full(len(self), value, type_.dtype)
            return Rows(Type("struct", members=((path, type_),)), {path: filled}, len(self))
        if path not in self._kept:
            self._kept[path] = self.table.read([path], rows=slice(*self._between), threads=1)
            self._used.add(path)
        return self._kept[path]

    def columns(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns the values of whole fields by name."""
        return {name: self.rows(name).members[name] for name in names}


class LazyForm:
    """The Awkward form of the rows of a table, with the column that each of its buffers needs."""

    def __init__(self, fields: Iterable[tuple[str, Type]]) -> None:

        row = Type("struct", members=tuple(fields))
        layout = _no_rows(row).to_awkward().layout
        self._forms = {}
        self._buffers: dict[str, list[tuple[str, str]]] = {}  # by field: the column to read, and the key
        for number, (name, type_) in enumerate(row.members):
            form = layout.content(name).form_with_key(f"field{number}-{{id}}")
            self._forms[name] = form
            paths = dict(_paths(form, type_, name, name))
            keys = form.expected_from_buffers(buffer_key=_KEY)
            self._buffers[name] = [(paths[key.partition("|")[0]], key) for key in keys]

    def events(self, source: LazyRows, attrs: Mapping[str, Any] | None = None) -> Any:
        """Returns an Awkward array whose fields are made, and whose columns are read, when they are first used."""
        import awkward as ak

        rows = ak.contents.RecordArray([], [], len(source))
        makers = [partial(self._field, source, name) for name in self._forms]
        rows._contents, rows._fields = _Fields(makers), list(self._forms)  # noqa: SLF001 (it would make all fields)
        return ak.Array(rows, attrs=dict(attrs or {}))

    def _field(self, source: LazyRows, name: str) -> Any:
        import awkward as ak

        buffers = {key: partial(self._buffer, source, name, path, key) for path, key in self._buffers[name]}
        return ak.from_buffers(self._forms[name], len(source), buffers, buffer_key=_KEY, highlevel=False)

    def _buffer(self, source: LazyRows, name: str, path: str, key: str) -> Any:
        layout = source.rows(path).to_awkward().layout.content(name)
        return _read_only(dict(_buffers(self._forms[name], layout))[key])


class _Fields(list[Any]):
    """The contents of a record: functions that make them, each of which is called when its content is first used."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        each = super().__getitem__(index)
        if isinstance(each, partial):
            each = each()
            self[index] = each
        return each

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self[index] for index in reversed(range(len(self))))

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, ([*self],)


def shallow(events: Any) -> Any:
    """Returns an array over the same buffers. Fields that are set in one of the two do not appear in the other one."""
    import awkward as ak

    return ak.Array(events.layout, behavior=events.behavior, attrs=dict(events.attrs))


def _read_only(buffer: Any) -> Any:
    """Returns a view that cannot be written to, since all derivations of a train share the buffer."""
    view = buffer.view()
    view.flags.writeable = False
    return view


def _paths(form: Any, type_: Type, path: str, whole: str) -> Iterator[tuple[str, str]]:
    """Yields the key of a form and of all forms inside it, each with the column that its buffers need."""
    if _is_whole(type_):
        for inner in _walk(form):
            yield inner.form_key, whole
        return
    while form.is_regular and type_.shape:
        form, type_ = form.content, Type(type_.name, type_.shape[1:], element=type_.element, members=type_.members)
    if form.is_record:
        for name, member in type_.members:
            yield from _paths(form.content(name), member, f"{path}/{name}", whole)
    elif type_.element is not None:
        yield form.form_key, _first_column(type_, path)
        yield from _paths(form.content, type_.element, path, whole)
    else:
        for inner in _walk(form):
            yield inner.form_key, path


def _is_whole(type_: Type) -> bool:
    """Returns whether a type is read as a whole, since Awkward represents it differently from how it is stored."""
    names = [name for name, _ in type_.members]
    if type_.type_name.startswith("std::variant<") or any(map(_BASE_CLASS.fullmatch, names)):
        return True
    if type_.name == "struct" and (not names or any("/" in name or name == "*" for name in names)):
        return True
    inner = [member for _, member in type_.members] + ([type_.element] if type_.element else [])
    return any(map(_is_whole, inner))


def _first_column(type_: Type, path: str) -> str:
    """Returns the path of one column inside a list: reading it gives the lengths of the list at little cost."""
    while type_.element is not None or type_.name == "struct":
        if type_.element is not None:
            type_ = type_.element
        else:
            name, type_ = type_.members[0]
            path = f"{path}/{name}"
    return path


def _walk(form: Any) -> Iterator[Any]:
    yield form
    contents = form.contents if form.is_record or form.is_union else [form.content] if hasattr(form, "content") else []
    for inner in contents:
        yield from _walk(inner)


def _buffers(form: Any, layout: Any) -> Iterator[tuple[str, Any]]:
    """Yields the buffers of a layout, which may have fewer members than its form."""
    for attribute in ("data", "offsets", "index", "tags"):
        if f"{form.form_key}|{attribute}" in form.expected_from_buffers(buffer_key=_KEY, recursive=False):
            yield f"{form.form_key}|{attribute}", np.asarray(getattr(layout, attribute))
    if form.is_record:
        for name in layout.fields:
            yield from _buffers(form.content(name), layout.content(name))
    elif form.is_union:
        for inner, content in zip(form.contents, layout.contents, strict=True):
            yield from _buffers(inner, content)
    elif hasattr(form, "content"):
        yield from _buffers(form.content, layout.content)


def _no_rows(type_: Type) -> Rows:
    return Rows(type_, {name: _nothing(member, (0,)) for name, member in type_.members}, 0)


def _nothing(type_: Type, outer: tuple[int, ...]) -> Any:
    """Returns an empty array, or what stands for one, of a type."""
    shape = (*outer, *type_.shape)
    if type_.name == "struct":
        return Rows(type_, {name: _nothing(member, shape) for name, member in type_.members}, 0)
    if type_.is_scalar:
        return np.empty(shape, type_.dtype)
    if type_.element is None:
        return Text(np.zeros(1, np.int64), np.empty(0, np.uint8), shape)
    return Ragged(np.zeros(1, np.int64), _nothing(type_.element, (0,)), shape)
