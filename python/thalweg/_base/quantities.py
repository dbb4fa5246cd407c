"""Parses and formats quantities with units: sizes, times, rates and frequencies."""

import re
from collections.abc import Callable
from typing import TypeVar

from thalweg import _core
from thalweg._base.errors import UsageError

Quantity = TypeVar("Quantity")
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


def frequency_hz(text: str, unit: str) -> float:
    """Returns the frequency of a text such as "5kHz", "5 KHz" (`unit` "Hz") or "10GS/s" (`unit` "S/s").

    Raises UsageError if the text is not a frequency."""
    match = re.fullmatch(rf"\s*([0-9.]+(?:e[0-9]+)?)\s*([kKMG]?)\s*(?:{unit}|[Hh]z)?\s*", text)
    try:
        if match:
            return float(match[1]) * _PREFIXES[match[2]]
    except ValueError:
        pass
    raise UsageError(f"'{text}' is not a frequency: give for example 500M{unit} or 2e9")


def rate(text: str) -> _core.Rate:
    """Returns the rate of a text such as "5kHz", "5000/s" or "200MB/s". Raises UsageError if it is not a rate."""
    if text.strip().lower().endswith("hz"):
        return _core.Rate.parse(f"{frequency_hz(text, 'Hz'):.17g}/s")
    return _core.Rate.parse(text)


def duration_ns(text: str) -> int:
    """Returns the time in ns, or 0 for an empty text. Raises UsageError if the text is not a time."""
    return _core.parse_duration_ns(text) if text else 0


def size_bytes(text: str) -> int:
    return _core.parse_size_bytes(text) if text else 0


def of_option(option: str, text: str, parse: Callable[[str], Quantity]) -> Quantity:
    """Returns the quantity of an option. Raises UsageError, which names the option, if the text is none."""
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def limit(option: str, text: str, parse: Callable[[str], int]) -> int:
    """Returns the limit, or 0 for an empty text, which means no limit. Raises UsageError for a given limit of 0."""
    value = of_option(option, text, parse)
    if text and value == 0:
        raise UsageError(f"{option} {text} is not a limit (it is 0): give more, or leave it out")
    return value


def as_bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"


def as_duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def as_ordinal(number: int) -> str:
    """Returns the number as "1st", "2nd", "3rd", "4th" and so on."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def counted(count: int, what: str) -> str:
    """Returns "1 row", "2,000 rows"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
