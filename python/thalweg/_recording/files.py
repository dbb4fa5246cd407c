"""The file of a run, or its files, which are written one after the other."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from thalweg import _core
from thalweg._recording import counts
from thalweg._recording.counts import Channels
from thalweg._recording.names import is_taken, numbered
from thalweg._recording.nodes import NodePlan
from thalweg._recording.watch import FreeSpace

_CLOSE_TIMEOUT_NS = 120_000_000_000
_RETRY_NS = 5_000_000_000  # after which a file that could not be begun is tried again
_ALL_THE_TIME_NS = 10**18  # no limit: other nodes may record for a long time


@dataclass
class FilePlan:
    """How every file of the run is made."""

    path: Path
    schema: str
    names: list[str]
    options: _core.CreateOptions
    metadata: dict[str, str]
    max_bytes: int = 0
    max_ns: int = 0
    nodes: NodePlan = field(default_factory=NodePlan)
    first: int = 1  # the number of the first file
    events: str = ""  # the table of what happens to devices; it is no channel

    def own(self, channels: Channels) -> Channels:
        """Returns the channels of this node."""
        return {
            name: channel
            for name, channel in channels.items()
            if name.startswith(self.nodes.prefix) and name != self.events
        }

    @property
    def is_numbered(self) -> bool:
        return bool(self.max_bytes or self.max_ns or self.first > 1)

    def path_of(self, number: int) -> Path:
        return numbered(self.path, number) if self.is_numbered else self.path


@dataclass
class RunFile:
    number: int
    path: Path
    writer: _core.Writer
    begin_ns: int  # the time from which its age counts
    metadata: dict[str, str]  # what is added when the file is closed
    space: FreeSpace | None = None
    channels: Channels = field(default_factory=dict)  # set once it is closed
    result: _core.CompleteResult | None = None
    error: str = ""
    closing: threading.Thread | None = None

    @property
    def is_closed(self) -> bool:
        return self.closing is not None and not self.closing.is_alive()

    @property
    def place(self) -> Path:
        """The path of the file by now: it may have been moved while it was written."""
        return Path(self.result.path) if self.result else self.path


class Files:
    def __init__(self, plan: FilePlan, note: Callable[[str], None] = lambda _: None) -> None:
        self.plan = plan
        self._note = note
        self._next_try_ns = 0
        self.all = [self._create(plan.first)]
        self._ended: set[int] = set()  # streams that do not continue in the next file

    @property
    def current(self) -> RunFile:
        return self.all[-1]

    def start(self, start_ns: int) -> None:
        """Sets the time, by the monotonic clock, from which the age of the first file counts."""
        self.current.begin_ns = start_ns

    def rotate_if_due(self) -> bool:
        """Begins the next file if it is due, and returns whether it did.

        Raises Error if the next file cannot be created. The current one is then kept, and the next call that is due
        tries again after some seconds."""
        before = self.current
        now_ns = _core.monotonic_ns()
        if now_ns < self._next_try_ns or not (self._is_due(before) and self._can_be_left(before)):
            return False
        self._next_try_ns = now_ns + _RETRY_NS
        after = self._create(self._free_number(before.number + 1), before)
        self._next_try_ns = 0
        # No producer has moved to the next file yet: one that has finished by now has no more rows and will not move.
        self._ended |= _tables_with_ended_producers(before.writer.status())
        _core.continue_in(before.writer, after.writer)
        self.all.append(after)
        if before.space:
            before.space.close()
            before.space = None
        self._close(before)
        return True

    def channels(self) -> Channels:
        names = self.plan.names
        parts = [file.channels or counts.of_status(file.writer.status(), names) for file in self.all]
        return self.plan.own(counts.counted_together(parts, names))

    def device_counts(self, *, current: bool = False) -> dict[str, dict[str, int]]:
        """Returns what the devices of this node have counted in all files, or in the one that is written."""
        plan = self.plan
        status = self.current.writer.status()
        channels = plan.own(counts.of_status(status, plan.names)) if current else self.channels()
        return {
            name.removeprefix(plan.nodes.prefix): {
                counted: value for counted, value in channel.counts.items() if counted not in counts.GAUGES
            }
            for name, channel in channels.items()
        }

    def durable_lag_ns(self) -> int:
        """Returns the longest durable lag of all files that are not closed, since a power cut may lose rows of each."""
        open_files = [file for file in self.all if file is self.current or not file.is_closed]
        return max(file.writer.status().durable_lag_ns for file in open_files)

    def close(self) -> None:
        """Begins to close the last file."""
        self._close(self.current)

    def are_closing(self) -> bool:
        """Returns whether earlier files are being closed, after which the disk has more room."""
        return not all(file.is_closed for file in self.all[:-1])

    def closed(self) -> bool:
        return all(file.is_closed for file in self.all)

    def errors(self) -> list[str]:
        return [file.error for file in self.all if file.error]

    def abandoned(self) -> list[str]:
        """Returns sentences about producers in closed files whose processes ended with an error."""
        return [str(each) for file in self.all if file.result for each in file.result.report.abandoned]

    def missing(self) -> list[str]:
        """Returns sentences about nodes that failed and without which the others went on."""
        reports = [file.result.report for file in self.all if file.result and self.plan.nodes.nodes > 1]
        return [note for report in reports if report.rows_may_be_missing for note in report.notes]

    def abandon(self) -> None:
        """Abandons all files that are not being closed. `recover` can repeat a closing that is interrupted."""
        for file in self.all:
            if file.closing is None:
                file.writer.abandon()

    def discard(self) -> None:
        """Removes the file of a run without rows."""
        if self.plan.nodes.nodes > 1:  # the other nodes see it
            self.current.writer.abandon()
            return
        self.current.writer.close(_CLOSE_TIMEOUT_NS)
        self.current.path.unlink()

    def _free_number(self, number: int) -> int:
        while not self.plan.options.force and is_taken(path := self.plan.path_of(number)):
            self._note(f"{path} is there already: the run goes on in the next number")
            number += 1
        return number

    def _is_due(self, file: RunFile) -> bool:
        plan = self.plan
        if plan.max_ns and _core.monotonic_ns() - file.begin_ns >= plan.max_ns:
            return True
        return bool(plan.max_bytes and file.writer.status().claimed_bytes >= plan.max_bytes)

    def _can_be_left(self, file: RunFile) -> bool:
        """Returns whether all producers have reached the file: one that comes late would find it closed."""
        if not all(earlier.is_closed for earlier in self.all[:-1]):
            return False
        status = file.writer.status()
        there = {each.table for each in status.producers if each.state != "attaching"}
        there |= _tables_with_ended_producers(status)
        return there | self._ended >= set(range(len(self.plan.names)))

    def _create(self, number: int, before: RunFile | None = None) -> RunFile:
        path = self.plan.path_of(number)
        metadata = dict(self.plan.metadata)
        if self.plan.is_numbered:
            metadata["file_number"] = str(number)
        metadata["file_start_utc"] = _core.utc_now()
        plan = self.plan
        if before:
            writer = _core.create_next(before.writer, str(path), plan.options, metadata)
        elif plan.nodes.node > 1:
            nodes = plan.nodes
            writer = _core.join(str(path), nodes.node - 1, nodes.nodes, plan.schema, nodes.timeout_ns)
            for key, value in nodes.metadata(metadata).items():
                writer.set_metadata(key, value)
        else:
            writer = _core.create(str(path), plan.schema, plan.options, metadata)
        begin_ns = _core.monotonic_ns()
        return RunFile(number, path, writer, begin_ns, metadata={"engine": writer.engine}, space=self._space_of(path))

    def _space_of(self, path: Path) -> FreeSpace | None:
        try:
            return FreeSpace(path)
        except OSError as error:
            self._note(f"cannot ask for the free space of {path.parent} ({error.strerror}): the run goes on")
            return None

    def _close(self, file: RunFile) -> None:
        file.closing = threading.Thread(target=self._complete, args=(file,), daemon=True)
        file.closing.start()

    def _complete(self, file: RunFile) -> None:
        try:
            _wait_for_producers(file.writer)
            channels = counts.of_status(file.writer.status(), self.plan.names)
            own = self.plan.own(channels)
            file.metadata["counters"] = json.dumps({name: channel.counters() for name, channel in own.items()})
            file.metadata["stop_utc"] = _core.utc_now()
            nodes = self.plan.nodes
            for key, value in nodes.metadata(file.metadata).items():
                file.writer.set_metadata(key, value)
            file.result = file.writer.close(_CLOSE_TIMEOUT_NS if nodes.nodes == 1 else _ALL_THE_TIME_NS)
            if file.place.exists():  # a file that was moved may be out of sight
                _count_what_is_stored(file.place, channels)
            file.channels = channels
        except Exception as error:  # whatever it is: it must be said
            file.error = str(error) or repr(error)


def _tables_with_ended_producers(status: _core.CommitStatus) -> set[int]:
    finished = {each.table for each in status.producers if each.state == "finished"}
    return finished | {table for table, ended in enumerate(status.ended) if ended.producers}


def _wait_for_producers(writer: _core.Writer) -> None:
    """Waits for the producers before the file is closed, since it keeps their last counters."""
    end_s = time.monotonic() + _CLOSE_TIMEOUT_NS * 1e-9
    while (status := writer.status()).producers and not status.has_failed and time.monotonic() < end_s:
        time.sleep(0.01)


def _count_what_is_stored(path: Path, channels: Channels) -> None:
    """Sets the counters to what is in the complete file, instead of what the producers counted."""
    reader = _core.Reader.open(str(path))
    for index, channel in enumerate(channels.values()):
        columns = _core.storage_of(reader, index)
        channel.rows = reader.rows(index)
        channel.raw_bytes = sum(column.raw_bytes for column in columns)
        channel.paged_bytes = sum(column.raw_bytes for column in columns)
        channel.stored_bytes = sum(column.stored_bytes for column in columns)
