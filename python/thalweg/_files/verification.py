"""What `verify` found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thalweg import _core
from thalweg._base.quantities import counted
from thalweg._schema.left_out import LeftOut, problems_of


@dataclass(frozen=True)
class Verification:
    """What `verify` found. `print` shows it as plain sentences."""

    path: str
    is_open: bool
    """The run is not closed."""
    pages: int
    bytes: int
    pages_without_checksum: int
    faults: int
    messages: tuple[str, ...]
    """Of the first faults: table, column, items, offset and reason."""
    adler32: int
    """Of the whole closed file."""
    file_bytes: int
    problems: tuple[LeftOut, ...] = ()
    """What is not read, of which nothing is known."""
    read_by_h5py: tuple[str, ...] = ()
    """Columns of other programs that only h5py reads: all values of each were read."""
    read_without_checksum: tuple[str, ...] = ()
    """Of those: the ones without a checksum in the file, of which is only known that they can be read."""

    @property
    def is_sound(self) -> bool:
        return self.faults == 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        state = "sound" if self.is_sound else counted(self.faults, "fault")
        summary = f"{self.path}: {state}, {counted(self.pages, 'page')} of {self.bytes} bytes"
        return "\n".join([summary, *self.messages, *map(str, self.problems)])


def verification_of(path: str, found: _core.Verification) -> Verification:
    return Verification(
        path=path,
        is_open=found.open_run,
        pages=found.pages,
        bytes=found.bytes,
        pages_without_checksum=found.pages_without_checksum,
        faults=found.faults,
        messages=tuple(found.messages),
        adler32=found.adler32,
        file_bytes=found.file_bytes,
        problems=problems_of(found.left_out),
    )
