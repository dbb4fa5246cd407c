"""The ranges of bytes that a request asks for (RFC 9110, section 14)."""

import re
from dataclasses import dataclass

MOST_RANGES = 1000
_SPEC = re.compile(r"[ \t]*([0-9]{0,100})-([0-9]{0,100})[ \t]*")


class NotSatisfiableError(Exception):
    """Raised with the reason if ranges are asked for that cannot be given."""


@dataclass(frozen=True)
class ByteRange:
    first: int
    end: int  # behind the last byte

    @property
    def size(self) -> int:
        return self.end - self.first

    def of(self, size: int) -> str:
        """Returns the value of Content-Range for a file of this size."""
        return f"bytes {self.first}-{self.end - 1}/{size}"


def ranges_of(header: str | None, size: int) -> list[ByteRange] | None:
    """Returns the ranges in the order of the request, or None if all bytes are asked for.

    Ranges that lie behind the end are left out. Raises NotSatisfiableError if none is left, if one is not written as it
    should be, or if they are so many, or overlap so much, that only a client with bad intentions asks for them.
    """
    unit, equals, specs = (header or "").partition("=")
    if not equals or unit.strip().lower() != "bytes":
        return None
    asked = [spec for spec in specs.split(",") if spec.strip()]
    if len(asked) > MOST_RANGES:
        raise NotSatisfiableError(f"{len(asked)} ranges are asked for: ask for at most {MOST_RANGES} at once")
    ranges = [each for spec in asked if (each := _range_of(spec, size))]
    if not ranges:
        raise NotSatisfiableError(f"no byte is asked for that the file has: it has {size} bytes")
    if sum(each.size for each in ranges) > size:
        raise NotSatisfiableError("the ranges have more bytes together than the file (they overlap): ask for each once")
    return ranges


def _range_of(spec: str, size: int) -> ByteRange | None:
    """Returns None if the range has no byte of the file."""
    match = _SPEC.fullmatch(spec)
    if not match or match[1] == match[2] == "" or (match[1] and match[2] and int(match[2]) < int(match[1])):
        raise NotSatisfiableError(f"{spec.strip()[:60]!r} is not a range: give for example bytes=0-99")
    if not match[1]:
        count = min(int(match[2]), size)
        return ByteRange(size - count, size) if count else None
    first = int(match[1])
    end = min(int(match[2]) + 1, size) if match[2] else size
    return ByteRange(first, end) if first < end else None
