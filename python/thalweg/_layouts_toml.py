"""Models of events as TOML files."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from thalweg._errors import UsageError
from thalweg._layouts_model import EventModel, event_model
from thalweg._types import Type, array, as_type, list_, struct

_WORDS = {"type", "list", "struct", "shape", "unit", "description"}


def load_model(path: str | os.PathLike[str]) -> EventModel:
    """The model of a TOML file: a table `products`, and a table `groups` where there are any.

    A type is a name ("float32"), an array of the one type that a list is of (["float32"]), or a table of named types:
    a struct. {type = "float32", unit = "ns", shape = [3], description = "..."} says more of a type; with `list` or
    `struct` in the place of `type`, of those. So [[products.hits]] begins a list of structs.
    """
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError:
        raise UsageError(f"there is no file {os.fspath(path)}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{os.fspath(path)} is not TOML: {error}") from None
    if unknown := [name for name in content if name not in ("products", "groups")]:
        raise UsageError(f"{os.fspath(path)}: '{unknown[0]}' is not known: there are [products] and [groups]")
    products = {name: _type(given, f"{os.fspath(path)}: {name}") for name, given in content.get("products", {}).items()}
    return event_model(products, content.get("groups"))


def _type(given: Any, where: str) -> Type:
    if isinstance(given, str):
        try:
            return as_type(str if given == "string" else given)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    if isinstance(given, list) and len(given) == 1:
        return list_(_type(given[0], where))
    if isinstance(given, dict) and given:
        return _described(given, where) if _is_described(given) else _struct(given, where)
    raise UsageError(f'{where}: {given!r} is not a type; give "float32", ["float32"] for a list, or a table')


def _is_described(given: dict[str, Any]) -> bool:
    """A struct may have members of these names; it is none where one of them says what type is described."""
    return set(given) <= _WORDS and len({"type", "list", "struct"} & set(given)) == 1


def _described(given: dict[str, Any], where: str) -> Type:
    if "struct" in given:
        type_ = _struct(given["struct"], where)
    else:
        type_ = list_(_type(given["list"], where)) if "list" in given else _type(given["type"], where)
    if "shape" in given:
        type_ = array(type_, *given["shape"])
    return type_(unit=given.get("unit", ""), description=given.get("description", ""))


def _struct(members: dict[str, Any], where: str) -> Type:
    return struct({name: _type(member, f"{where}.{name}") for name, member in members.items()})
