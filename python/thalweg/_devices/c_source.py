"""Sources in C, in a shared library (`include/thalweg/source.h`), with the calls that those in Python have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._devices.described_tables import described_tables
from thalweg.sources import DeviceLost, Overflow

_ENDED, _OVERFLOW, _REFUSED = -1, -2, -4  # of thalweg/source.h
_KINDS = ("a text", "an integer", "a number", "true or false", "any value")
_TEXT, _INTEGER, _REAL, _FLAG, _JSON = range(len(_KINDS))
_BUILT_IN = Path(__file__).parents[1] / "plug_ins"  # those of this package


def built_in() -> dict[str, Path]:
    """Returns the libraries that this package has, by the names of their sources."""
    return {path.stem: path for path in sorted(_BUILT_IN.glob("*.so"))}


def is_library(source: str) -> bool:
    """Returns whether this names a shared library, and no class."""
    return "/" in source or source.endswith(".so") or source in built_in()


class Library:
    """A shared library with a source. Called with settings, it opens the device, as a class does."""

    def __init__(self, source: str) -> None:
        """Raises UsageError if there is no such library, or if it is for another version of the header."""
        path = built_in().get(source) or Path(source)
        if not path.exists():
            raise UsageError(f"source {source} cannot be loaded (there is no file {path}): give the path of a library")
        self.source = source
        self.core = _core.PlugInLibrary(str(path.resolve()))
        self.__signature__ = Signature([_parameter(each) for each in self.core.settings])

    def __call__(self, **settings: Any) -> Device:
        return Device(self, settings)


class Device:
    """A device that such a library has opened."""

    def __init__(self, library: Library, settings: Mapping[str, Any]) -> None:
        """Raises UsageError if the settings are wrong, DeviceLost if the device does not answer."""
        self._source, self._library = library.source, library.core
        self._settings = {each.name: _setting(self._source, each, settings) for each in self._library.settings}
        values = [_value(each, self._settings[each.name]) for each in self._library.settings]
        self.thalweg_device = _core.make_plug_in_device(self._library, values)
        outcome = self.thalweg_device.open()
        self.check(outcome.code, outcome.text)

    def check(self, code: int, text: str) -> None:
        """Raises what a call that has failed stands for."""
        if code == _REFUSED:
            raise UsageError(f"{self._source}: {text}")
        if code < 0:
            raise DeviceLost(text)

    def describe(self) -> dict[str, Any]:
        outcome, text = self.thalweg_device.describe()
        self.check(outcome.code, outcome.text)
        try:
            said = json.loads(text)
        except ValueError as error:
            raise UsageError(f"describe of {self._source} gave no JSON ({error}): {text[:200]!r}") from None
        if not isinstance(said, dict) or "tables" not in said:
            raise UsageError(f"describe of {self._source} gave no 'tables': {text[:200]!r}")
        self._schema = described_tables(self._source, said["tables"])
        given = {name: value for name, value in self._settings.items() if value is not None}
        took = said.get("settings", {})
        if not isinstance(took, dict):
            raise UsageError(f"the settings of {self._source} are {took!r}: give an object with a value for each name")
        return {**said, "tables": self._schema, "settings": given | took}

    def start(self) -> int | None:
        outcome, card = self.thalweg_device.start()
        self.check(outcome.code, outcome.text)
        return card

    def next(self, timeout: float, lane: int = 0) -> dict[str, int] | None:
        """Takes the next rows and forgets them. Returns how many there were, by table. The recorder does not call this:
        it takes rows in C++ (`pumped_rows.py`)."""
        batch = self.thalweg_device.next(lane, round(timeout * 1e9))
        self.check_next(batch.code, batch.text, batch.lost)
        return {self._schema.tables[batch.table].name: batch.rows} if batch.code and batch.rows else None

    def check_next(self, code: int, text: str, lost: int | None) -> None:
        """Raises what such a code of `next` stands for."""
        if code == _ENDED:
            raise StopIteration
        if code == _OVERFLOW:
            raise Overflow(text, lost=lost)
        self.check(code, text)

    def turn(self, pump: _core.LanePump, timeout_s: float, limit_s: float, turn_s: float) -> _core.PumpTurn:
        """Lets the core take rows and append them for some time."""
        return pump.run(*(round(seconds * 1e9) for seconds in (timeout_s, limit_s, turn_s)))

    def stop(self) -> None:
        outcome = self.thalweg_device.stop()
        self.check(outcome.code, outcome.text)

    def close(self) -> None:
        self.thalweg_device.close()

    @property
    def pause(self) -> Callable[[], None] | None:
        return self._pause if self.thalweg_device.can_pause else None

    @property
    def counters(self) -> Callable[[], dict[str, dict[str, int]]] | None:
        return self._counters if self.thalweg_device.can_count else None

    def _pause(self) -> None:
        outcome = self.thalweg_device.pause()
        self.check(outcome.code, outcome.text)

    def _counters(self) -> dict[str, dict[str, int]]:
        outcome, counted = self.thalweg_device.counters()
        self.check(outcome.code, outcome.text)
        shown: dict[str, dict[str, int]] = {}
        tables = self._schema.tables
        for each in counted:
            if each.table >= len(tables):
                raise UsageError(f"{self._source} counts for table {each.table}, and has {len(tables)} tables")
            shown.setdefault(tables[each.table].name, {})[each.name] = each.value
        return shown


def _parameter(setting: _core.PlugInSetting) -> Parameter:
    default = Parameter.empty if setting.is_required else setting.fallback if setting.has_default else None
    return Parameter(setting.name, Parameter.KEYWORD_ONLY, default=default)


def _setting(source: str, setting: _core.PlugInSetting, given: Mapping[str, Any]) -> Any:
    """Returns the value of a setting, or its default; None: it has none. Raises UsageError if it does not fit."""
    if setting.name not in given:
        return _of_text(source, setting) if setting.has_default else None
    value, kind = given[setting.name], setting.kind
    if kind == _TEXT and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)  # a name may look like a number
    types: dict[int, tuple[type, ...]] = {_TEXT: (str,), _INTEGER: (int,), _REAL: (int, float), _FLAG: (bool,)}
    if kind != _JSON and (not isinstance(value, types[kind]) or (isinstance(value, bool) and kind != _FLAG)):
        raise UsageError(f"setting '{setting.name}' of {source} is {value!r}, and must be {_KINDS[kind]}")
    if kind == _INTEGER and not -(2**63) <= value < 2**63:
        raise UsageError(f"setting '{setting.name}' of {source} is {value}, and must have 64 bits")
    return float(value) if kind == _REAL else value


def _of_text(source: str, setting: _core.PlugInSetting) -> Any:
    """Returns the default of a setting."""
    if setting.kind == _TEXT:
        return setting.fallback
    try:
        value = json.loads(setting.fallback)
    except ValueError:
        must = f"is {setting.fallback!r}, and must be {_KINDS[setting.kind]}"
        raise UsageError(f"the default of setting '{setting.name}' of {source} {must}") from None
    return _setting(source, setting, {setting.name: value})


def _value(setting: _core.PlugInSetting, value: Any) -> tuple[str | None, int, float]:
    """Returns the value as the library gets it: as text, integer and real."""
    if value is None:
        return None, 0, 0.0
    text = value if setting.kind == _TEXT else json.dumps(value)
    is_number = setting.kind in (_INTEGER, _REAL, _FLAG)
    return text, int(value) if is_number and setting.kind != _REAL else 0, float(value) if is_number else 0.0
