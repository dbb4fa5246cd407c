"""The report of a recording."""

import os
from dataclasses import dataclass, field
from typing import Any

from thalweg._base.paths import is_there
from thalweg._base.quantities import as_bytes, as_duration, counted
from thalweg._recording.arrivals import Arrival
from thalweg._recording.counts import Channel, Channels, total_of
from thalweg._recording.files import RunFile
from thalweg._recording.watch import RECORD_ON

_MOST_NAMED = 8


@dataclass
class RecordingReport:
    ended_by: str  # duration, source, signal, failure
    channels: Channels
    files: list[RunFile]
    seconds: float  # from the start to the last record
    close_seconds: float
    engine: str
    memory: str  # the folder of the producers' memory
    failures: list[str]
    left_out: list[str]  # what cannot be read of the replayed file, or is missing of an input
    notes: list[str] = field(default_factory=list)  # what else is to be said of the inputs
    events: str = ""  # the table of what happened to devices, whose rows are no records
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    allow_missing: bool = False
    abandoned: bool = False
    only_tries: bool = False
    """No file is kept."""

    @property
    def exit_code(self) -> int:
        return 1 if self._has_failed or self._ended_in_vain else 0

    @property
    def _has_failed(self) -> bool:
        return bool(self.failures or self.abandoned or self._not_taken or (self.left_out and not self.allow_missing))

    @property
    def problems(self) -> list[str]:
        return [*self.failures, *filter(None, [self._not_taken]), *self.left_out, *filter(None, [self._nothing])]

    @property
    def _not_taken(self) -> str:
        """What is to be said of triggers whose records no one has taken; empty if all were. A card counts as a trigger
        what it has handed out, what is on board, and what it has lost. A run that ends well takes all that is on
        board."""
        left = {name: channel.not_taken for name, channel in self.channels.items() if channel.not_taken}
        if not left:
            return ""
        worst = max(left, key=lambda name: left[name])
        of = f" ({left[worst]:,} of them of {worst})" if len(self.channels) > 1 else ""
        share = f"{sum(left.values()):,} of {self.total.count('triggers'):,} triggers"
        return f"at least {share} are in no file{of}: the run ended before their records were taken"

    @property
    def _nothing(self) -> str:
        """What is to be said of a run without any record; empty if there are some."""
        again = "" if self.only_tries else "record again with --force or another --out"
        if self.total.rows or self.abandoned:
            return ""
        if self._has_failed:  # why is said
            return f"nothing was recorded: {again}" if again and any(file.result for file in self.files) else ""
        remedy = "check its trigger and threshold, or its input"
        if self.ended_by == "signal":
            why = f"the run was stopped after {as_duration(self.seconds)}, before the first one"
        elif lost := self.total.count("lost_triggers"):
            why = f"all {lost:,} triggers were lost{self._why_lost}"
            remedy = "lower the rate" + (", or take faster storage or compression" if self._why_lost else "")
        elif self.ended_by == "duration":
            why = "the source gave no record during the run"
        else:
            why = "the source ended without one"
        return f"nothing was recorded ({why}): {remedy}" + (f", and {again}" if again else "")

    @property
    def _ended_in_vain(self) -> bool:
        """Returns whether the run ended by itself without a record. One that a user stops ends as it was asked to."""
        return bool(self._nothing) and self.ended_by != "signal"

    @property
    def total(self) -> Channel:
        return total_of(self.channels.values())

    def as_json(self) -> dict[str, Any]:
        total = self.total
        return {
            "ended_by": self.ended_by,
            "seconds": round(self.seconds, 3),
            "close_seconds": round(self.close_seconds, 3),
            "engine": self.engine,
            "memory": self.memory,
            "rows": total.rows,
            "raw_bytes": total.raw_bytes,
            "stored_bytes": total.stored_bytes,
            "raw_bytes_per_s": round(total.raw_bytes / self._durable_s),
            "triggers": total.count("triggers"),
            "lost_triggers": total.count("lost_triggers"),
            "not_taken_triggers": sum(channel.not_taken for channel in self.channels.values()),
            "dead_time_fraction": total.dead_time_fraction,
            "channels": {name: channel.counters() for name, channel in self.channels.items()},
            "files": [_file(file) for file in self.files],
            "notes": self.notes,
            "problems": self.problems,
        }

    def sentences(self) -> list[str]:
        total = self.total
        stored = f" ({total.stored_ratio:.1%})" if total.stored_ratio else ""
        summary = (
            f"Recorded {counted(total.rows, 'record')} of {counted(len(self.channels), 'channel')} "
            f"in {as_duration(self.seconds)}: {as_bytes(total.raw_bytes)} raw, "
            f"{as_bytes(total.stored_bytes)} stored{stored}, "
            f"{as_bytes(total.raw_bytes / self._durable_s)}/s raw {self._until} ({self.engine})."
        )
        lines = [summary, *self._silent()]
        lines += self._dead_time()
        if back := total.count("backward_batches"):
            times = f"{back:,} times" if back > 1 else "once"
            lines.append(
                f"Timestamps went back {times} without a restart: they are in the file as the device gave them."
            )
        if self.memory != "/dev/shm":
            lines.append(f"Memory of the run was kept in {self.memory}, since /dev/shm was not used.")
        notes = dict.fromkeys(note for file in self.files if file.result for note in file.result.report.notes)
        said = [failure.partition("): ")[0] for failure in self.failures if RECORD_ON in failure]
        new = [note for note in notes if not any(each in note for each in said)]
        lines += self.notes
        return [*lines, *(_file_sentence(file, self.events) for file in self.files), *new]

    def _dead_time(self) -> list[str]:
        """Says how long the devices took no triggers, and how many they have lost. Why is known only if they say so."""
        total, lost = self.total, self.total.count("lost_triggers")
        said = self._lost(lost, total.count("triggers")) if lost else ""
        if total.dead_time_fraction:
            said = f"Dead time {_share(total.dead_time_fraction)}{': ' if said else ''}{said}"
            if len(self.channels) > 1:
                worst = max(self.channels, key=lambda name: self.channels[name].dead_time_fraction)
                said += f" (worst channel: {worst} with {_share(self.channels[worst].dead_time_fraction)})"
        if lost and total.count("onboard_limit_bytes"):
            said += "; storage or compression is too slow for this rate"
        return [f"{said}."] if said else []

    def _lost(self, lost: int, triggers: int) -> str:
        if triggers:
            return f"{lost:,} of {triggers:,} triggers are lost{self._why_lost}"
        return f"{lost:,} trigger{'s are' if lost > 1 else ' is'} lost{self._why_lost}"

    @property
    def _why_lost(self) -> str:
        is_known = self.total.count("onboard_limit_bytes") or self.total.count("overflows")
        return ", because the on-board memory was full" if is_known else ""

    def _silent(self) -> list[str]:
        """Names the channels that gave no record, if others gave some."""
        silent = [name for name, channel in self.channels.items() if not channel.rows]
        if not silent or len(silent) == len(self.channels):
            return []
        more = f" and {len(silent) - _MOST_NAMED:,} more" if len(silent) > _MOST_NAMED else ""
        return [f"No record came from {', '.join(silent[:_MOST_NAMED])}{more}."]

    @property
    def _until(self) -> str:
        """What the rate means: only a complete file is known to be durable."""
        return "until durable" if all(file.result for file in self.files) else "taken, not all of it durable"

    @property
    def _durable_s(self) -> float:
        return max(self.seconds + self.close_seconds, 1e-9)


def _share(fraction: float) -> str:
    return "below 0.01%" if 0 < fraction < 5e-5 else f"{fraction:.2%}"


def _file(file: RunFile) -> dict[str, Any]:
    facts: dict[str, Any] = {"path": str(file.place), "complete": file.result is not None}
    if file.result:
        report = file.result.report
        facts |= {
            "rows": {table.table: table.rows for table in report.tables},
            "lost_rows": sum(table.lost_rows for table in report.tables),
            "bytes": file.result.file_bytes,
            "adler32": f"{file.result.adler32:08x}" if file.result.adler32 else None,
            "notes": report.notes,
        }
    return facts


def _can_be_recovered(file: RunFile) -> bool:
    path = os.path.realpath(file.path)
    return is_there(path) and (is_there(f"{path}.journal") or is_there(f"{path}.parts"))


def _file_sentence(file: RunFile, events: str) -> str:
    if not file.result and file.closing and not file.error:
        return f"{file.path} may not be complete (closing was interrupted): `thalweg recover {file.path}` completes it."
    if not file.result and not _can_be_recovered(file):
        return (
            f"{file.path} is not complete, and the file or its journal is not there any more: put both back, and "
            f"`thalweg recover {file.path}` completes it."
        )
    if not file.result:
        return f"{file.path} is not complete: `thalweg recover {file.path}` completes it with all published records."
    rows = sum(table.rows for table in file.result.report.tables if table.table != events)
    lost = sum(table.lost_rows for table in file.result.report.tables)
    losses = f", {lost:,} lost with their producer" if lost else ""
    # If there are several hosts, the one that has completed the file knows the checksum, and perhaps the others.
    checksum = f", adler32 {file.result.adler32:08x}" if file.result.adler32 else ""
    return f"{file.place}: {counted(rows, 'record')}{losses}, {as_bytes(file.result.file_bytes)}{checksum}."
