"""What a device says of itself before there is a file."""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import likely, suggestion
from thalweg._devices.board import check_size
from thalweg._devices.c_source import Library, built_in, is_library
from thalweg._schema.schema import Schema, schema

ENTRY_POINTS = "thalweg.sources"
_CALLS = ("describe", "start", "next", "stop")
_SLOW_CALLS = ("units", "read")
OF_RECORDER = ("source", "name", "kind", "every", "on-loss", "deadline", "open-deadline")
"""Keys of a device that are no settings of its class."""
_KEYS = ("tables", "clock", "lanes", "settings", "notes")
_OF_CLOCK = ("column", "restarts", "marker", "domain")
_INTEGERS = ("int64", "uint64")
_PER_NS = {"ps": 1000.0, "ns": 1.0, "us": 1e-3, "ms": 1e-6, "s": 1e-9}


@dataclass(frozen=True)
class ClockColumn:
    """The column that holds the clock of the card."""

    column: str
    unit: str
    restarts: bool = False  # each start sets it to 0
    tables: tuple[str, ...] = ()
    marker: bool = False  # `start` returns what it showed at a marker that other cards see, too: there the file has 0

    @property
    def per_ns(self) -> float:
        return _PER_NS[self.unit]


@dataclass(frozen=True)
class Description:
    schema: Schema
    lanes: tuple[tuple[str, ...], ...]
    clock: ClockColumn | None
    domain: str  # what the clock is, in words
    settings: dict[str, Any]  # as the card took them
    notes: tuple[str, ...] = ()  # what is to be said of them

    def to_json(self) -> dict[str, Any]:
        """Returns what the recorder gets."""
        return {
            "schema": self.schema.to_json(),
            "clock": vars(self.clock) if self.clock else None,
            "clock_domain": self.domain,
            "lanes": self.lanes,
            "settings": self.settings,
            "notes": self.notes,
        }


def names_of_plug_ins(*, own: bool | None = None) -> list[str]:
    """Returns the names of sources that installed packages have. own: of this package alone, or of all others."""
    entries = metadata.entry_points(group=ENTRY_POINTS)
    found = {entry.name for entry in entries if own is None or entry.module.startswith("thalweg.") == own}
    return sorted(found | set(built_in() if own is None else ()))


def load_class(name: str, *, is_slow: bool = False) -> Callable[..., Any]:
    """Returns the class of `module:Class`, of an entry point, or what a shared library has instead. Raises UsageError
    if there is none.

    is_slow: it is to have the calls of a slow instrument."""
    module, _, in_module = name.partition(":")
    if in_module and module.endswith(".py"):
        raise UsageError(_of_file(Path(module), in_module))
    if is_library(name):
        if is_slow:
            raise UsageError(f"source {name} is no slow instrument (it is a library in C): leave out kind")
        return Library(name)
    if ":" in name:
        try:
            found = pkgutil.resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
                raise UsageError(_not_found(name, error.name)) from None
            raise UsageError(f"source {name} cannot be loaded ({error}): give module:Class") from None
    else:
        found = next(iter(metadata.entry_points(group=ENTRY_POINTS, name=name))).load()
    if not (missing := _missing_calls(found, is_slow)):
        return found  # type: ignore[no-any-return]
    if not _missing_calls(found, not is_slow):
        what = "leave out kind" if is_slow else 'give it in a table of --device, with kind = "slow"'
        raise UsageError(f"source {name} is {'no' if is_slow else 'a'} slow instrument: {what}")
    needed = "SlowInstrument" if is_slow else "Source"
    raise UsageError(f"source {name} has no {', no '.join(missing)}: `thalweg.sources.{needed}` lists what it needs")


def _of_file(file: Path, in_module: str) -> str:
    """Says how a class in a file is named."""
    where = "" if file.parent == Path() else f", and start in {file.parent}, or put this folder into PYTHONPATH"
    return f"source {file}:{in_module} is no module (it names a file): write {file.stem}:{in_module}{where}"


def _not_found(name: str, module: str) -> str:
    """Says where the module of a class was looked for."""
    set_to = os.environ.get("PYTHONPATH", "")
    folders = [os.getcwd(), *filter(None, set_to.split(os.pathsep))]
    beside = sorted({file.stem for folder in folders for file in Path(folder).glob("*.py")})
    of_path = f"in PYTHONPATH, which is {set_to}" if set_to else "in PYTHONPATH, which is not set"
    return (
        f"source {name} cannot be loaded (there is no module '{module}' in {folders[0]}, {of_path}, or among installed "
        f"packages): check the name{likely(module, beside)}, or put its folder into PYTHONPATH"
    )


def _missing_calls(found: Any, is_slow: bool) -> list[str]:
    calls: Sequence[str] = _SLOW_CALLS if is_slow else _CALLS
    if is_slow and callable(getattr(found, "changes", None)):
        calls = [call for call in calls if call != "read"]
    return [call for call in calls if not callable(getattr(found, call, None))]


def settings_of(maker: Callable[..., Any]) -> list[str]:
    """Returns the names of the settings that a constructor has."""
    parameters = inspect.signature(maker).parameters.values()
    return [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def check_settings(source: str, maker: Callable[..., Any], settings: Mapping[str, Any]) -> None:
    """Raises UsageError if the constructor does not take these settings, or needs others."""
    parameters = inspect.signature(maker).parameters.values()
    known = settings_of(maker)
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        for name in settings:
            if name not in known:
                raise UsageError(f"{source} has no setting '{name}'{_setting_meant(name, known)}")
    for each in parameters:
        is_one = each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        if is_one and each.default is each.empty and each.name not in settings:
            raise UsageError(f"{source} needs the setting '{each.name}': give it")


def _setting_meant(name: str, known: Sequence[str]) -> str:
    """Returns what was probably meant: a setting of the class, or a key of the recorder that is written otherwise."""
    of_recorder = name.replace("_", "-")
    if of_recorder != name and of_recorder in OF_RECORDER:
        return f" (the key of a device for the recorder is '{of_recorder}'): write it so"
    return likely(name, [*known, *OF_RECORDER]) or suggestion(name, known)


def description_of(source: str, given: Any, settings: Mapping[str, Any]) -> Description:
    """Returns what `describe` returned. Raises UsageError if it cannot be recorded."""
    if not isinstance(given, Mapping):
        raise UsageError(f"describe of {source} returned {given!r}: return a dictionary with 'tables'")
    for key in given:
        if key not in _KEYS:
            raise UsageError(f"describe of {source} returned '{key}', which means nothing{suggestion(str(key), _KEYS)}")
    if "tables" not in given:
        raise UsageError(f"describe of {source} returned no 'tables': return what the device records")
    tables = given["tables"]
    made = tables if isinstance(tables, Schema) else schema(tables)
    lanes = _lanes(source, made, given.get("lanes"))
    check_size(len(lanes), len(made))
    said = _mapping(f"the clock of {source}", given.get("clock"))
    took = _mapping(f"the settings of {source}", given.get("settings")) or dict(settings)
    try:
        json.dumps(took)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the settings of {source} cannot be kept in the file ({error}): give plain values") from None
    notes = given.get("notes", ())
    if not _is_texts(notes):
        raise UsageError(f"the notes of {source} are {notes!r}: return a list of sentences")
    clock, domain = _clock(source, made, said), str(said.get("domain", ""))
    return Description(made, lanes, clock, domain, dict(took), tuple(notes))


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} cannot be {given!r}: return a dictionary")
    return given


def _is_texts(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)


def _lanes(source: str, made: Schema, given: Any) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return (tuple(made),)
    if not isinstance(given, list | tuple) or not all(map(_is_texts, given)):
        raise UsageError(f"the lanes of {source} cannot be {given!r}: return a list with the tables of each lane")
    lanes = tuple(tuple(lane) for lane in given)
    if sorted(table for lane in lanes for table in lane) != sorted(made) or not all(lanes):
        raise UsageError(f"the lanes of {source} do not have each table once: they are {lanes}")
    return lanes


def _clock(source: str, made: Schema, given: Mapping[str, Any]) -> ClockColumn | None:
    for key in given:
        if key not in _OF_CLOCK:
            raise UsageError(f"the clock of {source} has no '{key}'{suggestion(key, _OF_CLOCK)}")
    column = given.get("column", "timestamp")
    having = {table.name: table[column] for table in made.tables if column in table}
    usable = {
        name: type_
        for name, type_ in having.items()
        if type_.name in _INTEGERS and type_.unit in _PER_NS and not type_.shape
    }
    units = {type_.unit for type_ in usable.values()}
    if len(units) == 1 and len(usable) == len(having):
        marker = bool(given.get("marker", False))
        if marker and any(type_.name != "int64" for type_ in usable.values()):
            raise UsageError(
                f"column '{column}' of {source} counts from a marker (rows before it have negative times): make it "
                "int64"
            )
        return ClockColumn(column, units.pop(), bool(given.get("restarts", False)), tuple(usable), marker)
    if "column" in given and not having:
        names = dict.fromkeys(name for table in made.tables for name in table)
        raise UsageError(f"the clock of {source} is column '{column}', which no table has{suggestion(column, names)}")
    if "column" in given or given.get("restarts") or given.get("marker"):
        raise UsageError(
            f"column '{column}' of {source} cannot be its clock: make it int64 or uint64, with one unit of "
            f"{', '.join(_PER_NS)} in all tables"
        )
    return None
