"""Knobs that tune the writing. The core has the table of knobs; docs/knobs.md shows it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from thalweg import _core
from thalweg._base.errors import UsageError

Value: TypeAlias = "bool | int | float | str | None"


VARIABLE = "THALWEG_KNOBS"
"""KNOB=VALUE;KNOB=VALUE, for programs that stay as they are."""


class Tuning(Mapping[str, Value]):
    """Checked values of knobs; all other knobs keep their defaults.

    `Tuning(flush_interval=0.5, extent_bytes="4 MiB")`: numbers are bytes or seconds, strings have a unit, and None or
    "auto" lets the container choose. As a mapping, it has the given values as numbers. `a | b` joins two; `b` wins.
    `thalweg knobs` lists all knobs.

    Raises UsageError if a name or value is wrong, with similar names or the valid range.
    """

    def __init__(self, values: Mapping[str, Value] | None = None, /, **more: Value) -> None:
        self._texts: dict[str, str] = {}
        if not isinstance(values, Mapping | None):
            raise UsageError(f"tuning cannot be {values!r}: give tw.Tuning(...), or a dictionary of knobs")
        for name, value in {**(values or {}), **more}.items():
            knob = _core.knob(name)
            self._texts[name] = knob.text(_as_text(name, value))

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Tuning:
        """Reads texts such as "flush_interval=500 ms". Raises UsageError if one is wrong or a knob is given twice."""
        values: dict[str, str] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals:
                raise UsageError(f"'{setting}' is not of the form KNOB=VALUE: write it like flush_interval=500ms")
            if name in values:
                raise UsageError(f"knob '{name}' is given twice ('{values[name]}' and '{text}'): give it once")
            values[name] = text
        return cls(values)

    @property
    def texts(self) -> dict[str, str]:
        """The values as texts with their units, as a file keeps them."""
        return dict(self._texts)

    def __getitem__(self, name: str) -> Value:
        return typed(name, self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __or__(self, other: Mapping[str, Value]) -> Tuning:
        return Tuning({**self._texts, **Tuning(other)._texts})

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"Tuning({', '.join(f'{name}={text!r}' for name, text in self._texts.items())})"

    def apply(self, options: _core.CreateOptions) -> None:
        """Sets these knobs in the options of the core, and those of THALWEG_KNOBS that are not among them.

        Raises UsageError if the variable has a wrong name or value.
        """
        for name, text in {**_of_environment(), **self._texts}.items():
            options.set(name, text)


def _of_environment() -> dict[str, str]:
    try:
        return Tuning.parse(each for each in os.environ.get(VARIABLE, "").split(";") if each).texts
    except UsageError as error:
        raise UsageError(f"{VARIABLE}: {error}") from None


def _as_text(name: str, value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "__index__"):  # integers, also those of NumPy
        return str(value.__index__())
    if isinstance(value, float):  # float, also NumPy's float64
        return repr(float(value))
    raise UsageError(f"knob '{name}' cannot be {value!r} (a {type(value).__name__}): give a number or a string")


def with_codec(tuning: Mapping[str, Value] | None, codec: str | None) -> Tuning:
    """Returns the tuning together with one codec for all columns. Raises UsageError if both set the codec."""
    checked = tuning if isinstance(tuning, Tuning) else Tuning(tuning)
    if not codec:
        return checked
    for name in ("wide_codec", "narrow_codec"):
        if name in checked:
            raise UsageError(f"knob '{name}' and a codec for all columns are given: leave one of them out")
    return checked | {"wide_codec": codec, "narrow_codec": codec}


def typed(name: str, text: str) -> Value:
    """Returns the value of a knob for Python, or the text itself if this version does not know the knob."""
    try:
        knob = _core.knob(name)
    except UsageError:
        return text
    return cast("Value", knob.parse(text))


def in_effect(texts: Mapping[str, str]) -> dict[str, Value]:
    """Returns the values of all knobs by name, in the order of the table."""
    return {name: typed(name, text) for name, text in in_order(texts)}


def in_order(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns knobs and their texts in the order of the table of knobs."""
    order = {knob.name: place for place, knob in enumerate(_core.knobs())}
    return sorted(texts.items(), key=lambda each: (order.get(each[0], len(order)), each[0]))


def _signature() -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("values", inspect.Parameter.POSITIONAL_ONLY, default=None),
        *(inspect.Parameter(knob.name, keyword, default=knob.default) for knob in _core.knobs()),
    ]
    return inspect.Signature(parameters)


Tuning.__signature__ = _signature()  # type: ignore[attr-defined]
