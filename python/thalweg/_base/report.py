"""The one way in which a report of the C++ core becomes a value of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, Self, get_args, get_type_hints


@dataclass(frozen=True)
class Report:
    """A report whose fields have the names that the core's report has. The fields say all: nothing is listed twice."""

    @classmethod
    def of(cls, *sources: object, **given: Any) -> Self:
        """Returns the report of the core's objects.

        The value of a field is the given one, or the attribute of that name of the first source that has it. Lists
        become tuples, and reports inside it are made in the same way. A field without a value keeps its default."""
        values = dict(given)
        kind: type = cls
        inner = _reports_in(kind)
        for name in [each.name for each in fields(cls) if each.name not in given]:
            source = next((each for each in sources if hasattr(each, name)), None)
            if source is not None:
                values[name] = _value(getattr(source, name), inner.get(name))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain values, for JSON."""
        return asdict(self)


@cache
def _reports_in(cls: type[Report]) -> Mapping[str, type[Report]]:
    """Returns the reports that fields of this class hold. Types are looked up here, and not by every import."""
    hints = get_type_hints(cls).items()
    return {name: inner for name, hint in hints if (inner := _report_in(hint)) is not None}


def _report_in(hint: Any) -> type[Report] | None:
    """Returns the report that a field of this type holds, such as R in `tuple[R, ...]`."""
    return next((each for each in get_args(hint) if isinstance(each, type) and issubclass(each, Report)), None)


def _value(value: Any, inner: type[Report] | None) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(value if inner is None else map(inner.of, value))
