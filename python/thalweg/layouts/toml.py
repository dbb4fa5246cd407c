"""Reads models of events from TOML files."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._schema.types import Type, array, as_type, list_, struct
from thalweg.layouts.model import EventModel, event_model

_WORDS = {"type", "list", "struct", "shape", "unit", "description"}


def load_model(path: str | os.PathLike[str]) -> EventModel:
    """Returns the model of a TOML file with a table `products` and, optionally, a table `groups`.

    A type is a name ("float32"), a list of that type (["float32"]), or a table of named types (a struct).
    {type = "float32", unit = "ns", shape = [3], description = "..."} adds a unit, a shape or a description; `list` or
    `struct` instead of `type` does the same for these. [[products.hits]] begins a list of structs.

    Raises UsageError if there is no such file, or if it is not TOML or not a model.
    """
    where = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError:
        raise UsageError(f"{where} cannot be read (there is no such file)") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} is not TOML ({error})") from None
    except RecursionError:
        raise UsageError(f"{where} cannot be read (its values are nested too deeply)") from None
    if unknown := [name for name in content if name not in ("products", "groups")]:
        raise UsageError(f"{where}: '{unknown[0]}' is not known: give [products] and [groups]")
    given = _table(content.get("products", {}), f"{where}: products")
    try:
        products = {name: _type(each, f"{where}: {name}") for name, each in given.items()}
        return event_model(products, _groups(content["groups"], where) if "groups" in content else None)
    except RecursionError:
        raise UsageError(f"{where} is not a model (its types are nested too deeply)") from None
    except UsageError as error:
        raise error if str(error).startswith(where) else UsageError(f"{where}: {error}") from None


def _table(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise UsageError(f"{where}: {given!r} is not a table: begin it with [{where.rpartition(' ')[2]}]")
    return given


def _groups(given: Any, where: str) -> dict[str, list[str]]:
    groups = _table(given, f"{where}: groups")
    for name, paths in groups.items():
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise UsageError(f"{where}: group '{name}' is {paths!r}: give a list of paths, such as [\"wires.rois\"]")
    return groups


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
    raise UsageError(f'{where}: {given!r} is not a type: give "float32", ["float32"] for a list, or a table')


def _is_described(given: dict[str, Any]) -> bool:
    """Returns whether a table describes a type: it has one of `type`, `list` and `struct`, and no other names than
    these."""
    return set(given) <= _WORDS and len({"type", "list", "struct"} & set(given)) == 1


def _described(given: dict[str, Any], where: str) -> Type:
    if "struct" in given:
        type_ = _struct(_table(given["struct"], f"{where}: struct"), where)
    else:
        type_ = list_(_type(given["list"], where)) if "list" in given else _type(given["type"], where)
    if "shape" in given:
        type_ = array(type_, *_shape(given["shape"], where))
    for word in ("unit", "description"):
        if not isinstance(given.get(word, ""), str):
            raise UsageError(f"{where}: the {word} is {given[word]!r}: give a text")
    return type_(unit=given.get("unit", ""), description=given.get("description", ""))


def _shape(given: Any, where: str) -> list[int]:
    sizes: list[int] = given if isinstance(given, list) else []
    if not sizes or not all(type(size) is int and size > 0 for size in sizes):
        raise UsageError(f"{where}: the shape is {given!r}: give the sizes of the array, such as [3] or [2, 3]")
    return sizes


def _struct(members: dict[str, Any], where: str) -> Type:
    return struct({name: _type(member, f"{where}.{name}") for name, member in members.items()})
