"""Rows that are described in a file of TOML: `docs/sources.md` shows it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._raw.row import BitField, Row, RowField
from thalweg._raw.types import NAMES, parse

_OF_ROW = ("table", "description", "byte-order", "sample-order", "max-row-bytes", "field")
_OF_FIELD = (
    *("name", "type", "role", "shape", "value", "counts", "scale", "bits"),
    *("byte-order", "sample-order", "unit", "description"),
)
_OF_BITS = ("bits", "unit", "description")
_ROLES = ("value", "skip", "sync", "sequence", "timestamp", "length")
_BYTE_ORDERS, _SAMPLE_ORDERS, _COUNTS = ("little", "big"), ("low-first", "high-first"), ("items", "bytes", "row")
_BITS = re.compile(r"(\d+)(?:-(\d+))?")
# Keys that only a field of this role has.
_OF_ROLE = {"value": "sync", "counts": "length", "scale": "timestamp", "bits": "value"}


class RowFile:
    """One such file: all that it raises names it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.text = self._read()

    def _read(self) -> str:
        try:
            return Path(self._path).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot read {self._path} ({error.strerror}): give a row as TOML or as a dtype") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{self._path} is not TOML ({error})") from None

    def row(self) -> Row:
        """Returns the row. Raises UsageError, with file and field, if a key or a value is not one."""
        try:
            given = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{self._path} is not TOML ({error})") from None
        self._check_keys("the row", given, _OF_ROW)
        tables = given.get("field")
        if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
            raise UsageError(f"{self._path} has no fields: write [[field]] for each of them, in the order of the bytes")
        fields = [self._field(number, each, given) for number, each in enumerate(tables, 1)]
        row = Row(fields)
        row.table = self._text("the row", given, "table", row.table)
        row.description = self._text("the row", given, "description", "")
        row.max_row_bytes = self._number("the row", given, "max-row-bytes", row.max_row_bytes, 1)
        for each in tables:
            row.length_of = self._one_of("the row", each, "counts", _COUNTS, row.length_of)
        return row

    def _field(self, number: int, given: dict[str, Any], of_row: dict[str, Any]) -> RowField:
        where = f"field {number}" + (f" ('{given['name']}')" if "name" in given else "")
        self._check_keys(where, given, _OF_FIELD)
        role = self._one_of(where, given, "role", _ROLES, "value")
        for key, owner in _OF_ROLE.items():
            if key in given and role != owner:
                self._refuse(where, f"has '{key}' (only a field with role '{owner}' has it)")
        if role != "skip" and not given.get("name"):
            self._refuse(where, "has no name")
        if role == "sync" and "value" not in given:
            self._refuse(where, "has no 'value' (a sync word has the same value in all rows)")
        text = self._text(where, given, "type", "uint8" if role == "skip" else "")
        try:
            type_ = parse(text)
        except UsageError:
            self._refuse(where, f"has the type '{text}'{suggestion(text, NAMES)}")
        order = self._one_of(where, of_row | given, "byte-order", _BYTE_ORDERS, "little")
        shape = given.get("shape", [])
        return RowField(
            name=self._text(where, given, "name", ""),
            scalar=type_.scalar,
            role=role,
            packed_bits=type_.packed_bits,
            high_first=self._one_of(where, of_row | given, "sample-order", _SAMPLE_ORDERS, "low-first") == "high-first",
            big_endian=order == "big" if type_.big_endian is None else type_.big_endian,
            shape=[] if shape == "length" else self._shape(where, shape),
            has_length=shape == "length",
            sync_value=self._number(where, given, "value", 0, 0),
            scale=self._number(where, given, "scale", 1, 1),
            bits=self._all_bits(where, given.get("bits", {})),
            unit=self._text(where, given, "unit", ""),
            description=self._text(where, given, "description", ""),
        )

    def _shape(self, where: str, given: Any) -> list[int]:
        sizes = given if isinstance(given, list) else [given]
        for size in sizes:
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                self._refuse(where, f'has the shape {given!r} (give a number, a list of numbers, or "length")')
        return sizes

    def _all_bits(self, where: str, given: Any) -> list[BitField]:
        if not isinstance(given, dict):
            self._refuse(where, 'has bits that are no table (write for example bits = {channel = "0-4", flag = "31"})')
        return [self._bits(where, name, each) for name, each in given.items()]

    def _bits(self, where: str, name: str, given: Any) -> BitField:
        values = given if isinstance(given, dict) else {"bits": given}
        where = f"{where}, bits '{name}',"
        self._check_keys(where, values, _OF_BITS)
        match = _BITS.fullmatch(str(values.get("bits", "")))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            self._refuse(where, 'has no range of bits (write for example "0-4", or "31"; 0 is the lowest)')
        texts = [self._text(where, values, key, "") for key in ("unit", "description")]
        return BitField(name, first, last - first + 1, *texts)

    def _check_keys(self, where: str, given: dict[str, Any], known: Iterable[str]) -> None:
        for key in given:
            if key not in known:
                self._refuse(where, f"has no key '{key}'{suggestion(key, known)}")

    def _one_of(self, where: str, given: dict[str, Any], key: str, known: tuple[str, ...], default: str) -> str:
        value = given.get(key, default)
        if value not in known:
            self._refuse(where, f"has {key} = {value!r}{suggestion(str(value), known)}")
        return str(value)

    def _text(self, where: str, given: dict[str, Any], key: str, default: str) -> str:
        value = given.get(key, default)
        if not isinstance(value, str):
            self._refuse(where, f"has {key} = {value!r} (it is a text)")
        return str(value)

    def _number(self, where: str, given: dict[str, Any], key: str, default: int, least: int) -> int:
        value = given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**64:
            self._refuse(where, f"has {key} = {value!r} (it is a whole number from {least} on)")
        return int(value)

    def _refuse(self, where: str, problem: str) -> Any:
        raise UsageError(f"{self._path}: {where} {problem}")
