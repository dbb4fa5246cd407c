"""Writes tables as TOML, for the configuration that is kept with a run. The standard library can only read TOML."""

import json
import re
from collections.abc import Iterator
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(tables: dict[str, Any]) -> str:
    """Returns tables as TOML: texts, numbers, bools, lists and tables, in their order. Raises TypeError for others."""
    return "\n".join(_lines(tables, ())).lstrip("\n") + "\n"


def _lines(table: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    # Values come before tables, since all lines after the head of a table belong to it.
    for key, value in table.items():
        if not _has_head(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if _has_head(value):
            inner = (*path, key)
            name = ".".join(map(_key, inner))
            for head, each in (
                [(f"[[{name}]]", it) for it in value] if isinstance(value, list) else [(f"[{name}]", value)]
            ):
                yield f"\n{head}"
                yield from _lines(each, inner)


def _has_head(value: Any) -> bool:
    """Returns whether the value is a table, or a list of tables only."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(it, dict) for it in value)
    )


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML has the escapes of JSON, and DEL must be escaped, too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError(f"{type(value).__name__} cannot be written as TOML here")
