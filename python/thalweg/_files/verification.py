"""The result of `verify`."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._base.quantities import counted
from thalweg._base.report import Report
from thalweg._schema.left_out import LeftOut


@dataclass(frozen=True)
class Verification(Report):
    """The result of `verify`. `print` shows it as sentences."""

    path: str
    is_open: bool
    """Whether the run is not closed."""
    pages: int
    """The number of pages that were checked."""
    bytes: int
    """The stored size of these pages in bytes."""
    pages_without_checksum: int
    faults: int
    messages: tuple[str, ...]
    """The first faults: table, column, items, offset and reason of each."""
    adler32: int
    """The Adler-32 checksum of the whole file, if it is closed."""
    file_bytes: int
    problems: tuple[LeftOut, ...] = ()
    """Objects that cannot be read and were not checked."""
    read_by_h5py: tuple[str, ...] = ()
    """Columns of other programs that only h5py can read. All their values were read."""
    read_without_checksum: tuple[str, ...] = ()
    """Those of `read_by_h5py` that have no checksum, so that only that they can be read is known."""
    read_by_uproot: tuple[str, ...] = ()
    """Branches of TTrees. All their values were read."""

    writers: str = "none"
    """If the run is not closed: "alive" if a process writes it, "ended" if all that wrote it have ended, so that
    `recover` must complete it, "gone" if the journal is not beside the file, which lacks rows then, or else why this
    machine cannot tell."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the processes that wrote the run have ended without closing it, or its journal is gone."""
        return self.is_open and self.writers in ("ended", "gone")

    @property
    def remedy(self) -> str:
        """A sentence about a run that is unfinished."""
        if self.writers == "gone":
            return (
                "The run is not complete, and its journal is not beside the file, which lacks rows: put the journal "
                "beside it and recover it, or read the complete file that the run has become."
            )
        return f"The run is not complete, and no process writes it: `thalweg recover {self.path}` completes it."

    @property
    def is_sound(self) -> bool:
        """Whether no faults were found."""
        return self.faults == 0

    def __str__(self) -> str:
        state = "sound" if self.is_sound else counted(self.faults, "fault")
        summary = f"{self.path}: {state}, {counted(self.pages, 'page')} of {self.bytes:,} bytes"
        unfinished = [self.remedy] if self.is_unfinished else []
        return "\n".join([summary, *self.messages, *unfinished, *map(str, self.problems)])
