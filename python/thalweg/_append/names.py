"""The names under which values are given: paths such as "waveform/values" become nested dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg._append.count import ValuePlace


class _Inside(dict[str, Any]):
    """The members of a struct that paths have named."""


def nested_fields(given: Iterable[Mapping[Any, Any]], place: ValuePlace) -> dict[str, Any]:
    """Returns all values by name. Raises UsageError if a name is not a string, or has two values."""
    nested = _Inside()
    for fields in given:
        for name, value in fields.items():
            if not isinstance(name, str):
                place.fail(f"the name of a column is {name!r}", "names are strings: rename it")
            *outer, last = name.split("/")
            into: Any = nested
            for part in outer:
                into = into.setdefault(part, _Inside())
                if not isinstance(into, _Inside):
                    place.fail(f"two values were given for '{name}'", f"'{part}' was given, too")
            if last in into:
                place.fail(f"two values were given for '{name}'", "give one")
            into[last] = value
    return nested
