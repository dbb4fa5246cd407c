"""Checks the tables that a library in C describes as JSON: a key that means nothing is refused, and not passed over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._schema.schema import Schema

_OF_TABLE = ("name", "fields", "description", "attributes")
_OF_FIELD = ("name", "type", "shape", "unit", "description", "type_name", "attributes")
_INSIDE = {"list": "element", "struct": "fields"}
"""The key that has what is in a field, by its type."""


def described_tables(source: str, tables: Any) -> Schema:
    """Returns the tables of a library, given as docs/formats/schema.md describes them. Raises UsageError, which names
    source, table, field and key."""
    try:
        made = Schema.from_json(json.dumps({"tables": tables}))
        for table in tables:
            _check_keys(table, f"table '{table['name']}'", _OF_TABLE)
            for field in table["fields"]:
                _check_field(field, table["name"], field["name"])
    except UsageError as error:
        raise UsageError(f"describe of {source}: {error}") from None
    return made


def _check_field(field: dict[str, Any], table: str, path: str) -> None:
    inside = _INSIDE.get(field["type"])
    _check_keys(field, f"field '{path}' of table '{table}'", (*_OF_FIELD, *([inside] if inside else [])))
    if inside == "element":
        _check_field(field["element"], table, f"{path}/*")
    if inside == "fields":
        for member in field["fields"]:
            _check_field(member, table, f"{path}/{member['name']}")


def _check_keys(part: dict[str, Any], what: str, known: Sequence[str]) -> None:
    for key in part:
        if key not in known:
            raise UsageError(f"{what} has '{key}', which means nothing there{suggestion(key, known)}")
