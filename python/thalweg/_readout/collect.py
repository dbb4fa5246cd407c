"""Runs a collector: it writes events from handlers into one file and reports on it."""

import json
import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.notify import Notifier
from thalweg._base.quantities import as_bytes, as_duration
from thalweg._readout import configuration
from thalweg._readout.live import LiveLine, Recent, Waits, show, times
from thalweg._readout.signals import Stop, listening
from thalweg._schema.tuning import Tuning
from thalweg.readout import Counters

_LOOK_S = 0.1
_CORRECT = "start the handlers, or correct their addresses"
_NO_EVENT = "no handler has an event yet (their /readyz says whether they wait for a card, or for POST /control/start)"
_CLOSE_TIMEOUT_NS = 120_000_000_000


# lz4 costs sender, collector and disk together the least time; a short flush interval frees the handlers soon.
DEFAULTS = Tuning(wide_codec="lz4", narrow_codec="lz4", flush_interval=0.2)


@dataclass
class CollectOptions:
    out: Path
    handlers: list[str] = field(default_factory=list)
    toml: str = ""  # the readout's configuration, to be kept with the events
    token: str = field(default="", repr=False)
    token_file: str = ""
    """The file with the token: it is read again if a handler refuses the token. Empty: the token never changes."""
    return_s: float = 30.0
    """How long events wait for a handler that has ended its run, while the first one goes on, to come back."""
    events: int = 0
    duration_s: float = 0
    complete_only: bool = False
    credit_bytes: int = 32 << 20
    find_credit: bool = False
    """Whether the client finds how much of `credit_bytes` it uses, from goodput and delay."""
    range_events: int = 256
    tuning: Tuning = DEFAULTS
    force: bool = False
    quiet: bool = False
    interval_s: float = 1.0


def addresses_of(config: configuration.Configuration) -> tuple[list[str], str, str]:
    """Returns the addresses of the handlers, their token, and the file that has it. Raises UsageError if they have
    different tokens."""
    with configuration.naming(config.path):
        handlers = _core.parse_readout(config.json)
    tokens = {token for _, token, _ in handlers}
    if len(tokens) > 1:
        raise UsageError(f"{config.path}: its handlers have different tokens (a collector has one): give all the same")
    return [address for address, _, _ in handlers], tokens.pop(), handlers[0][2]


def read_token(path: Path) -> str:
    """Returns the first line of the file, as handlers read it. Raises UsageError if there is no token."""
    try:
        first = path.read_bytes().decode().split("\n")[0].removesuffix("\r")
    except OSError as error:
        raise UsageError(f"cannot read the token in {path} ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read the token in {path} (it is not text)") from None
    if not first:
        raise UsageError(f"{path} has no token (its first line is empty)")
    return first


def unreached(at_end: Sequence[_core.AwayHandler], when_stopped: Sequence[_core.AwayHandler], handlers: int) -> str:
    """Returns which of so many handlers the collector could not reach, if that leaves something out of its file.

    A handler counts that was away all the time. So do all of them, if none was there when the collection was stopped
    and their run was not over."""
    never = [each for each in at_end if not each.was_met]
    when_stopped = [each for each in when_stopped if not each.is_there]
    if len(never) == handlers:
        return f"no handler could be reached ({_addresses(never)}): {_CORRECT}"
    if never:
        which = "a handler" if len(never) == 1 else "handlers"
        return f"the file has nothing of {which} that could not be reached ({_addresses(never)}): {_CORRECT}"
    if len(when_stopped) == handlers and not any(each.may_leave for each in when_stopped):
        return f"no handler could be reached any more when the collection was stopped ({_addresses(when_stopped)})"
    return ""


def _addresses(handlers: Sequence[_core.AwayHandler]) -> str:
    return ", ".join(f"{each.address}: {each.why}" for each in handlers)


@dataclass(frozen=True)
class CollectorReport:
    path: Path
    ended_by: str
    run: int
    counters: Counters
    missing_parts: Sequence[_core.MissingParts]
    """What the events lack of each handler."""
    rows: int
    raw_bytes: int
    left_out: int
    not_cleared: int
    unanswered: str
    unreached: str
    """Why the file lacks the data of a handler, or of all: no connection to them. Empty: it does not."""
    seconds: float
    close_seconds: float
    result: _core.CompleteResult | None
    problem: str

    @property
    def exit_code(self) -> int:
        return 1 if self.problems or self.result is None else 0

    @property
    def problems(self) -> list[str]:
        return [text for text in (self.problem, self.unreached, *map(_in_another_run, self.missing_parts)) if text]

    @property
    def _per_s(self) -> float:
        return 1 / max(self.seconds + self.close_seconds, 1e-9)

    def as_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "complete": self.result is not None,
            "ended_by": self.ended_by,
            "run": self.run,
            "events": self.rows,
            "raw_bytes": self.raw_bytes,
            "file_bytes": self.result.file_bytes if self.result else 0,
            "seconds": round(self.seconds, 3),
            "close_seconds": round(self.close_seconds, 3),
            "events_per_s": round(self.rows * self._per_s, 1),
            "left_out": self.left_out,
            "not_cleared": self.not_cleared,
            "counters": self.counters.as_json(),
            "missing_parts": [each.as_json() for each in self.missing_parts],
            "problem": "; ".join(self.problems),
        }

    def sentences(self) -> list[str]:
        counters, took = self.counters, as_duration(self.seconds + self.close_seconds)
        rates = f"{self.rows * self._per_s:,.0f} events/s and {as_bytes(self.raw_bytes * self._per_s)}/s"
        of_run = f" of run {self.run}" if self.run else ""
        size = as_bytes(self.raw_bytes)
        said = [
            f"Collected {self.rows:,} events{of_run} in {took}, syncs to disk included: {size}, {rates}.",
            *self._odd(counters),
        ]
        if self.result:
            file = f"{as_bytes(self.result.file_bytes)}, adler32 {self.result.adler32:08x}"
            said.append(f"{self.path} is complete: {self.rows:,} events, {file}. {_ENDINGS[self.ended_by]}")
        else:
            said.append(f"{self.path} is not complete: `thalweg recover {self.path}` completes it.")
        if self.unanswered and not self.unreached and self.ended_by != "run":  # then all had said that it is over
            said.append(f"These handlers did not answer at the end: {self.unanswered.replace(' ()', '')}.")
        if self.not_cleared:
            said.append(f"{self.not_cleared:,} ranges were not cleared: handlers will deliver their events again.")
        return said

    def _odd(self, counters: Counters) -> list[str]:
        what = {
            "incomplete": counters.incomplete,
            "left out because they were incomplete": self.left_out,
            "absent": counters.absent,
            "with payloads left out (they do not fit into fragment_bytes of their group)": counters.overflowing,
            "with other status bits (errors of packets, or of hooks)": counters.flagged,
            "evicted before they were requested": counters.evicted,
            "lost with a handler": counters.lost,
            "unknown to all handlers (a gap)": counters.gaps,
            "given out by another handler than the first one": counters.left_behind,
            "held by another collector before": counters.again,
            "delivered twice and recorded once": counters.duplicates,
        }
        said = [f"{count:,} {name}" for name, count in what.items() if count]
        lines = [f"Events: {', '.join(said)}."] if said else []
        lacks = ", ".join(filter(None, map(_lack, self.missing_parts)))
        if lacks:
            lines.append(f"What events lack: {lacks}.")
        if counters.too_late:
            lines.append(
                f"{counters.too_late:,} of the events that were delivered twice had a part that came too late for the "
                "file; the handler counts it as cleared."
            )
        if counters.wrong:
            lines.append(f"{counters.wrong:,} fragments had a wrong header and are left out.")
        if counters.refused_clears:
            lines.append(
                f"{counters.refused_clears:,} ranges were taken over by another collector: their events may be in its "
                "file, too."
            )
        if counters.tokens_read:
            lines.append(f"The file with the token had another one {times(counters.tokens_read)}.")
        if counters.reconnects:
            lines.append(f"Connections were lost {times(counters.reconnects)}.")
        return lines


def _lack(parts: _core.MissingParts) -> str:
    """Returns how many events have nothing, or less than all, of a handler; empty if none."""
    words = [f"{parts.without:,} have nothing"] if parts.without else []
    words += [f"{parts.in_part:,} have only a part"] if parts.in_part else []
    return f"{' and '.join(words)} of {parts.address}" if words else ""


def _in_another_run(parts: _core.MissingParts) -> str:
    """Returns what is to be said of a handler that was in another run while events of this one went on without it;
    empty if there is none."""
    if not parts.other_run or not parts.without:
        return ""
    return (
        f"{parts.without:,} events have nothing of {parts.address} (it was in run {parts.other_run}): give `start` the "
        "number of the run"
    )


_ENDINGS = {
    "signal": "The collection was stopped; handlers that still run keep all other events.",
    "duration": "The duration was over; handlers that still run keep all other events.",
    "events": "The file has the requested number of events.",
    "run": "The run has ended.",
    "failure": "The file has the events that came before the failure.",
}


class Collection:
    def __init__(self, options: CollectOptions) -> None:
        self._options = options
        self._begin_s = time.monotonic()
        client = _core.ClientOptions()
        client.handlers, client.token, client.token_file = options.handlers, options.token, options.token_file
        client.return_ns = int(options.return_s * 1e9)
        client.credit_bytes, client.find_credit = options.credit_bytes, options.find_credit
        client.range_events = options.range_events
        _core.ReadoutClient(client)  # raises for wrong options before a file is created
        self._writer = _core.create(
            str(options.out), _core.schema_of_events(), self._create_options(), self._metadata()
        )
        self._collector = _core.make_collector(self._writer, client, options.events, options.complete_only)
        self._error: Exception | None = None
        self._away_when_stopped: list[_core.AwayHandler] = []
        self._runner = threading.Thread(target=self._run, daemon=True)
        self._live = LiveLine(quiet=options.quiet, interval_s=options.interval_s)
        self._notifier = Notifier()

    def _create_options(self) -> _core.CreateOptions:
        create = _core.CreateOptions()
        create.force = self._options.force
        self._options.tuning.apply(create)
        return create

    def _metadata(self) -> dict[str, str]:
        own = {
            "start_utc": _core.utc_now(),
            "host": _core.host_name(),
            "kernel": f"{platform.system()} {platform.release()}",
            "thalweg_version": _core.version(),
            "source": "readout",
            "handlers": ", ".join(self._options.handlers),
        }
        return own | ({"readout.toml": self._options.toml} if self._options.toml else {})

    def _run(self) -> None:
        try:
            self._collector.run()
        except Exception as error:
            self._error = error

    def run(self) -> CollectorReport:
        """Runs until the run ends, there are enough events, the duration is over, or a signal ends it."""
        with listening() as stop:
            self._runner.start()
            self._notifier.ready(f"collecting into {self._options.out}")
            ended_by = self._watch(stop)
            seconds = time.monotonic() - self._begin_s
            if self._runner.is_alive():  # a second signal came while it waits for the disk or for handlers
                return self._report("signal", seconds, None, "the collection was abandoned on the second signal")
            self._notifier.busy(_CLOSE_TIMEOUT_NS * 1e-9 + 60)
            result, problem = self._close()
        self._live.close()
        if isinstance(self._error, UsageError):
            self._give_up_file(result)
            raise self._error
        if self._error:
            ended_by, problem = "failure", str(self._error)
        return self._report(ended_by, seconds, result, problem)

    def _watch(self, stop: Stop) -> str:
        ended_by, recent, waits, tokens_read = "", Recent[_Moment](), Waits(self._live), 0
        while self._runner.is_alive() and stop.times < 2:
            self._runner.join(_LOOK_S)
            elapsed_s = time.monotonic() - self._begin_s
            if not ended_by and (stop or 0 < self._options.duration_s <= elapsed_s):
                ended_by = "signal" if stop else "duration"
                self._away_when_stopped = self._collector.away()
                self._collector.stop()
                self._notifier.stopping("writing what was received")
            now = _Moment.of(self._collector)
            before = recent.since(now)
            if now.tokens_read > tokens_read:
                self._live.say(f"{self._options.token_file} has another token: it is tried from now on")
            tokens_read = now.tokens_read
            show(self._live, self._notifier, now.sentence(before, elapsed_s, bool(ended_by)))
            if not ended_by:
                waits.look(now.waiting, f"{self._options.out}: it goes on")
        enough = 0 < self._options.events <= self._collector.rows()
        return ended_by or ("events" if enough else "run")

    def _close(self) -> tuple[_core.CompleteResult | None, str]:
        counters = self._collector.counters()
        self._writer.set_metadata("run_number", str(self._collector.run_number()))
        self._writer.set_metadata("engine", self._writer.engine)
        self._writer.set_metadata("stop_utc", _core.utc_now())
        self._writer.set_metadata("counters", json.dumps(counters.as_json()))
        missing = [each.as_json() for each in self._collector.missing_parts()]
        self._writer.set_metadata("missing_parts", json.dumps(missing))
        try:
            return self._writer.close(_CLOSE_TIMEOUT_NS), ""
        except Error as error:
            return None, str(error)

    def _give_up_file(self, result: _core.CompleteResult | None) -> None:
        """Removes the file if the request was wrong, so that no empty file is left."""
        if result and not self._collector.rows():
            self._options.out.unlink(missing_ok=True)

    def _report(
        self, ended_by: str, seconds: float, result: _core.CompleteResult | None, problem: str
    ) -> CollectorReport:
        collector = self._collector
        return CollectorReport(
            path=self._options.out,
            ended_by=ended_by,
            run=collector.run_number(),
            counters=collector.counters(),
            missing_parts=collector.missing_parts(),
            rows=collector.rows(),
            raw_bytes=collector.bytes(),
            left_out=collector.left_out(),
            not_cleared=collector.not_cleared(),
            unanswered=collector.waiting_for(),
            unreached=unreached(collector.away(), self._away_when_stopped, len(self._options.handlers)),
            seconds=seconds,
            close_seconds=time.monotonic() - self._begin_s - seconds,
            result=result,
            problem=problem,
        )


@dataclass(frozen=True)
class _Moment:
    time_s: float
    rows: int
    raw_bytes: int
    incomplete: int
    tokens_read: int
    waiting_for: str
    without: str
    run: int

    @classmethod
    def of(cls, collector: _core.Collector) -> "_Moment":
        counters = collector.counters()
        waiting, run = collector.waiting_for(), collector.run_number()
        return cls(
            time.monotonic(),
            collector.rows(),
            collector.bytes(),
            counters.incomplete,
            counters.tokens_read,
            waiting,
            ", ".join(f"{each.address} ({each.why})" for each in collector.away() if not each.is_missed),
            run,
        )

    @property
    def waiting(self) -> str:
        """For what it waits; empty if all handlers are there, and some event was given away."""
        return f"waiting for {self.waiting_for}" if self.waiting_for else "" if self.run else _NO_EVENT

    def sentence(self, before: "_Moment", elapsed_s: float, is_ending: bool) -> str:
        seconds = max(self.time_s - before.time_s, 1e-9)
        speed = f"{(self.raw_bytes - before.raw_bytes) / seconds / 1e9:.2f} GB/s"
        waiting = f", {self.waiting}" if self.waiting else ""
        waiting += f", without {self.without}" if self.without else ""
        ending = ", writing what was received (Ctrl-C: abandon)" if is_ending else ""
        return (
            f"{as_duration(elapsed_s)}: {(self.rows - before.rows) / seconds:,.0f} events/s, {speed}, "
            f"{self.rows:,} events, {self.incomplete:,} incomplete{waiting}{ending}"
        )
