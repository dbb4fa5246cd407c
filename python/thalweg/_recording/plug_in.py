"""A device that is a class in Python, in a process of its own: opened, watched, and opened again if it is lost."""

import contextlib
import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._recording.device_events import DeviceEvents, Happening, now
from thalweg._recording.losses import MOST_AT_ONCE, Cause, Losses
from thalweg._recording.options import DeviceLoss
from thalweg._recording.silence import Silence
from thalweg._recording.specs import DeviceSpec
from thalweg._recording.watch import Problems
from thalweg._recording.workers import WorkerProcess

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.5  # before the device is opened again
_WELL_S = 10.0  # a device that has worked so long is opened again at once
_LAST_WORDS_S = 1.0  # for what an ended process has said

_OF_CLOCK = ("origin_ns", "uncertainty_ns", "offset", "uncertainty", "zero")  # what a later process goes on with

Counted = Callable[[], dict[str, Any]]


class DeviceProcess(WorkerProcess):
    module = "thalweg._devices.process"
    has_own_session = True

    def __init__(self, spec: DeviceSpec, goes_on: dict[str, Any] | None = None) -> None:
        """goes_on: what the process of a slow instrument needs to go on behind an earlier one."""
        self.heard: deque[dict[str, Any]] = deque()
        self._spec = spec
        self._ended_s = 0.0
        opened = {"source": spec.source, "settings": spec.settings, "deadline_s": spec.deadline_s}
        if spec.drain_s is not None:
            opened["drain_s"] = spec.drain_s
        if spec.features:
            opened["features"] = spec.features
        if spec.is_slow:
            opened["slow"] = {"every_s": spec.every_s} | ({"goes_on": goes_on} if goes_on else {})
        super().__init__({"open": opened}, [spec.title], spec.deadline_s)

    def _prepare(self) -> None:
        self.board.begin(0, "open", self._spec.open_deadline_s)

    def _hear(self, message: dict[str, Any]) -> None:
        self.heard.append(message)

    def has_ended(self) -> bool:
        """Returns whether it has ended and has said all. A process that it has forked may keep its output open."""
        if self._process.poll() is None:
            return False
        self._ended_s = self._ended_s or time.monotonic()
        return not self._listener.is_alive() or time.monotonic() - self._ended_s > _LAST_WORDS_S

    def how_it_ended(self) -> str:
        code = self._process.poll()
        assert code is not None
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with code {code} and no report{self._last_words()}"

    def kill(self) -> None:
        """Ends the process, and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.wait()
        self._listener.join(_LAST_WORDS_S)
        for stream in (self._process.stdin, self._log):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self.board.close()


class PlugIn:
    """`counted` returns what has been counted by table, in all files and in the one that is written."""

    def __init__(self, spec: DeviceSpec, problems: Problems, events: DeviceEvents, counted: Counted) -> None:
        self.spec = spec
        self.description: dict[str, Any] | None = None
        self.failure = ""  # for which the run ends
        self.has_ended = False
        self.is_attached = self._was_told_to_attach = False
        self._problems, self._events, self._counted = problems, events, counted
        self._process: DeviceProcess | None = None
        self._handle = self._prefix = ""
        self._is_recording = self._is_stopping = self._is_paused = False
        self._left: dict[str, Any] = {}  # by an earlier process
        self._gap: dict[str, Any] = {}  # of a slow instrument, until it answers again
        self._reports: dict[str, Any] = {}
        self._killed_for = ""
        self._is_other = False  # it has other tables than before
        self._pause_s = _FIRST_PAUSE_S
        self._next_try_s = self._lost_s = self._since_s = 0.0
        self._losses = Losses()

    # What the run asks of all its sources.

    def begin(self) -> None:
        """Begins to open the device. Raises SystemError if no process can be started."""
        self._reports, self._killed_for = {}, ""
        self.is_attached = self._was_told_to_attach = False
        try:
            self._process = DeviceProcess(self.spec, self._gap)
        except OSError as error:
            raise SystemError(
                error.errno, f"cannot start the process of {self.spec.title} ({error.strerror})"
            ) from None

    def attach(self, handle: str, prefix: str) -> None:
        """Lets the device append to this run, and later processes of it, too."""
        self._handle, self._prefix = handle, prefix
        self._say_attach()

    def start(self) -> None:
        self._is_recording, self._since_s = True, time.monotonic()
        self._say("start")

    def rotated(self, handle: str) -> None:
        self._handle = handle
        self._say_attached("rotated")

    def pause(self) -> None:
        self._is_paused = True
        self._say_attached("pause")

    def resume(self) -> None:
        self._is_paused = False
        self._say_attached("resume")

    def stop(self) -> None:
        self._is_stopping = True
        self._say_attached("stop")
        if not self.is_attached:  # it may take long to be open, and has no records
            self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        if self._process is not None:
            self._process.close()

    @property
    def is_attaching(self) -> bool:
        """Whether a process of it is about to attach: the run must not go on in another file before it has."""
        return self._process is not None and self._was_told_to_attach and not self.is_attached

    # What happens to it.

    def look(self) -> None:
        """Takes what the process has said, and does what is due."""
        process = self._process
        if self.has_ended:
            return
        if process is None:
            if self._is_stopping:
                self._was_never_open()
            elif time.monotonic() >= self._next_try_s:
                self._begin_again()
            return
        ended = process.has_ended()
        if self._problems.shows_output:
            self._problems.printed(self.spec.title, process.new_lines(ended))
        process.trim_log()
        while process.heard:
            self._take(process.heard.popleft())
        if ended:
            self._end(process)
        elif not self._killed_for and (missed := process.silence.missed()):
            self._killed_for = missed
            process.kill()

    def _begin_again(self) -> None:
        try:
            self.begin()
        except SystemError as error:  # the machine may have no process for it now
            self._problems.note(f"{error}: this is tried until it can")
            self._try_again()

    def _take(self, message: dict[str, Any]) -> None:
        if described := message.get("described"):
            self._describe(described)
        elif message.get("ready"):
            self.is_attached = True
            if self._is_recording:
                self._say("start")
                if self._is_paused:
                    self._say("pause")
        elif event := message.get("event"):
            self._note(event)
        else:
            self._reports |= message

    def _describe(self, described: dict[str, Any]) -> None:
        assert self._process is not None
        self._process.silence = Silence(self._process.board, self.spec.deadline_s, len(described["lanes"]))
        if self.description is None:
            self.description = described
            for note in described["notes"]:
                self._problems.remark(f"{self.spec.title}: {note}")
            self._happened("opened")
        elif json.loads(described["schema"]) != json.loads(self.description["schema"]):
            self._is_other = True
            self._reports["error"] = f"{self.spec.title} was opened again and has other tables now"
            self._process.kill()
        elif self._is_stopping:
            self._process.kill()
        else:
            self._say_attach()

    def _say_attach(self) -> None:
        self._was_told_to_attach = True
        before = self._left | {"counters": self._counted_before()} if self._left else {}
        self._say("attach", {"handle": self._handle, "as": {"prefix": self._prefix, "before": before}})

    def _counted_before(self) -> dict[str, dict[str, Any]]:
        """Returns what earlier processes of the device have counted, by the names that it gives to its tables."""
        prefix = self.spec.prefix
        return {
            where: {name.removeprefix(prefix): each for name, each in tables.items() if name.startswith(prefix)}
            for where, tables in self._counted().items()
        }

    def _note(self, event: dict[str, Any]) -> None:
        if event["event"] == "absent":
            self._problems.note(
                f"{self.spec.title} cannot be opened again ({event['text']}): this is tried until it can"
            )
            return
        if event["event"] == "draining":
            self._problems.note(
                f"next of {self.spec.title} still gives rows {event['after_s']:g} s after stop (they are recorded, for "
                f"{event['most_s']:g} s at most): let it return None once it has handed out what it had"
            )
            return
        if "origin_ns" in event:
            self._left |= {name: event[name] for name in _OF_CLOCK}
        self._happened(event["event"], event.get("text", ""), event)
        if event["event"] == "lost":  # a slow instrument, whose process goes on
            self._lost_s = time.monotonic()
            cause = self._losses.add(event["text"])
            times = "" if cause.times == 1 else f", for the {cause.times:,}th time"
            if cause.is_told:
                self._problems.note(f"{self.spec.title} gives no values{times} ({event['text']}): it is opened again")
        if event["event"] == "overflow":
            self._problems.note(f"{self.spec.title} overflowed ({event['text']}): it is started again")
        if event["event"] == "reopened":
            self._pause_s, self._gap = _FIRST_PAUSE_S, {}
            if not self._losses.last.is_told:
                return
            what = "is open" if self.spec.is_slow else "gives records"
            self._problems.note(f"{self.spec.title} {what} again, {time.monotonic() - self._lost_s:.1f} s later")

    def _end(self, process: DeviceProcess) -> None:
        """The process has ended: as it was asked to, or not."""
        reports, was_attached = self._reports, self.is_attached
        last = self._last_timestamps(process)
        how = self._killed_for or process.how_it_ended()
        process.kill()  # what it has started, and left
        process.close()
        self._process = None
        if "rows" in reports:
            self.has_ended = True
            if self._killed_for:
                self._problems.fail(f"{self.spec.title} has given all its records, and {self._killed_for}")
            self._happened("stopped", "", {"from": max(last.values(), default=None)})
            return
        text = reports.get("error") or reports.get("lost") or f"it {how}"
        if self.description is None:
            self.has_ended = True
            if reports.get("usage"):
                raise UsageError(text)
            raise SystemError(0, f"{self.spec.title} cannot be opened ({text})")
        if self._is_stopping and not was_attached:
            self._was_never_open()
            return
        self._left |= {"last": last, "why": text}
        if self.spec.is_slow:
            self._left["why"] = ""  # the instrument itself says when it is there again
            self._gap = self._gap or {"units": self.description["units"], **now()}
        if not was_attached and self._may_reopen and not self._is_other:
            self._problems.note(f"{self.spec.title} cannot be opened again ({text}): this is tried until it can")
            self._try_again()
            return
        self._happened("lost", text, {"from": max(last.values(), default=None)})
        at_once = bool(reports.get("fails_at_once"))
        has_given = bool(last) or not reports.get("fails_at_once", True)
        if self._losses.is_hopeless(text, fails_at_once=at_once, has_given=has_given) and self._may_reopen:
            text = f"{self.spec.title} gives no row, and has failed {MOST_AT_ONCE} times in the same way ({text})"
            self._lose(f"{text}: mend it, or raise DeviceLost if the device may come back", is_final=True)
            return
        self._lose(text, is_final="error" in reports, is_endless=bool(reports.get("is_endless")))

    @property
    def _may_reopen(self) -> bool:
        return self._is_recording and not self._is_stopping and self.spec.on_loss == DeviceLoss.reopen

    def _lose(self, text: str, *, is_final: bool, is_endless: bool = False) -> None:
        cause = self._losses.add(text)
        sentence = f"{self.spec.title} is lost ({text})"
        if cause.times > 1:
            sentence = f"{self.spec.title} was lost {cause.times:,} times ({text})"
        if self._may_reopen and not is_final:
            self._say_lost_again(cause, f"{sentence}: it is opened again")
            self._lost_s = time.monotonic()
            if self._lost_s - self._since_s > _WELL_S:
                self._pause_s = _FIRST_PAUSE_S
            self._since_s = self._lost_s
            self._try_again()
            return
        self.has_ended = True
        if is_endless:
            self._problems.fail(
                f"{self.spec.title} does not stop ({text}): let stop end them, so that next returns None"
            )
        elif self._is_stopping:
            self._say_lost(f"{sentence} while it was stopped")
        elif self._is_recording and self.spec.on_loss == DeviceLoss.going_on and not is_final:
            self._problems.fail(f"{sentence}: the run goes on without it")
        else:
            self.failure = text if is_final else f"{sentence}: the run ends"

    def _was_never_open(self) -> None:
        self.has_ended = True
        self._say_lost(f"{self.spec.title} was lost, and not open again when the run ended")

    def _say_lost(self, sentence: str) -> None:
        """A gap of a slow instrument is a row, and so the run lacks nothing."""
        self._problems.note(sentence) if self.spec.is_slow else self._problems.fail(sentence)

    def _say_lost_again(self, cause: Cause, sentence: str) -> None:
        before, cause.said = cause.said, sentence
        if before and not self.spec.is_slow:
            self._problems.fail_again(before, sentence, is_said=cause.is_told)
        elif cause.is_told:
            self._say_lost(sentence)

    def _try_again(self) -> None:
        self._next_try_s = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _last_timestamps(self, process: DeviceProcess) -> dict[str, int]:
        names = [each["name"] for each in json.loads(self.description["schema"])["tables"]] if self.description else []
        found = {name: process.board.last(table) for table, name in enumerate(names)}
        before: dict[str, int] = self._left.get("last", {})
        return before | {name: last for name, last in found.items() if last is not None}

    def _happened(self, event: str, text: str = "", more: dict[str, Any] | None = None) -> None:
        clock = (self.description or {}).get("clock") or {}
        self._events.add(Happening(self.spec.title, event, text, clock.get("unit", ""), now() | (more or {})))

    def _say_attached(self, request: str) -> None:
        """Says what only a process that is attached can hear: the others learn it when they are."""
        if self.is_attached:
            self._say(request)

    def _say(self, request: str, what: Any = True) -> None:
        if self._process is not None:
            self._process.say(json.dumps({request: what}))
