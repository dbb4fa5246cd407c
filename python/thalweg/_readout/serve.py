"""Runs a handler: changes its states on request, and reports on it."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.notify import Notifier
from thalweg._base.quantities import as_bytes, as_duration, counted
from thalweg._readout.handler_report import ODD_PATHS, WRONG_NUMBERS, HandlerReport
from thalweg._readout.live import LiveLine, Recent, Waits, show
from thalweg._readout.signals import Stop, listening

_LOOK_S = 0.1
_CUT_SHORT_S = 2.0  # then a hook of the experiment keeps a thread
_MOSTLY = 0.9
_LOOK_FOR_CARD_NS = 200_000_000
_LARGEST_RUN = 2**32 - 1
_FEW_PACKETS = 1000
_VERBS = ("configure", "start", "pause", "resume", "stop")
_NO_ROOM = "they do not fit into fragment_bytes of their group): raise it"


@dataclass
class ServeOptions:
    config: _core.HandlerConfig
    run: int = 1
    drain_s: float = 10
    hold: bool = False  # only configure; POST /control/start begins the run
    quiet: bool = False
    interval_s: float = 1.0


class Serving:
    """One handler from its configuration to its end. Signals and POST /control change its state."""

    def __init__(self, options: ServeOptions) -> None:
        self._options = options
        self._config = options.config
        self._handler = _core.Handler(self._config)
        self._live = LiveLine(quiet=options.quiet, interval_s=options.interval_s)
        self._notifier = Notifier()
        self._begin_s = 0.0
        self._reports: list[HandlerReport] = []
        self._control_lock = threading.Lock()  # signals and requests change states from different threads
        self._is_leaving = threading.Event()
        self.was_cut_short = False  # a second signal came, and a thread does not end the run

    def run(self) -> list[HandlerReport]:
        """Serves until a signal ends it. Returns the report of each run."""
        self._handler.configure()
        self._live.say(self._introduction())
        listens = self._config.metrics or self._config.control_socket
        monitor = _core.monitor_of(self._handler, self._control) if listens else None
        if monitor:
            self._live.say(self._of_monitor(monitor))
        self._notifier.ready(f"{self._config.name} is configured")
        with listening() as stop:
            if not self._options.hold:
                self._wait_for_card(stop)
            self._watch(stop)
            self._live.close()
            self._notifier.stopping("stopping")
            with self._in_control():
                self._is_leaving.set()
                if self._handler.state in ("running", "paused"):
                    self._live.say("stopping: the handler builds what the card has written; collectors fetch the rest")
                    self._drain(stop)
        if monitor:
            monitor.stop()  # a request for control may still need the interpreter to end
        self._renew_report()
        if not self._reports:
            self._live.say(f"{self._config.name} has ended; there was no run")
        return self._reports

    def _drain(self, stop: Stop) -> None:
        ending = threading.Thread(target=self._end_run, args=(self._options.drain_s,), daemon=True)
        ending.start()
        recent = Recent[_Moment]()
        while ending.is_alive() and stop.times < 2:
            ending.join(_LOOK_S)
            now = _Moment.of(self._handler)
            show(self._live, self._notifier, now.ending_sentence(recent.since(now)))
        self._live.close()
        if ending.is_alive():
            self._handler.cut_short()
            ending.join(_CUT_SHORT_S)
        self.was_cut_short = ending.is_alive()
        if self.was_cut_short:
            self._report()

    def _introduction(self) -> str:
        config = self._config
        return (
            f"{config.name} serves {counted(config.groups, 'group')} of {config.buffer} at {self._handler.address}; "
            f"its index ({as_bytes(config.index_bytes)}) holds the events of {config.depth_s:.3g} s "
            f"at {config.expected_rate_hz:,.0f} events/s{self._pacing()}"
        )

    def _pacing(self) -> str:
        limit = self._config.pacing_bytes_s
        if limit == 0:
            return ""
        if self._handler.address.startswith("unix:"):
            return "; pacing is not in effect, because a Unix socket has none"
        return f"; pacing is in effect: at most {as_bytes(limit)} a second to one connection"

    def _of_monitor(self, monitor: _core.HttpServer) -> str:
        config = self._config
        ways = [f"at {config.control_socket}"] if config.control_socket else []
        ways += ["at the same address with the token"] if config.has_token and config.metrics else []
        control = " or ".join(ways) or "none (the configuration has neither token_file nor control_socket)"
        return f"metrics and health: {monitor.url}; control: {control}" if config.metrics else f"control: {control}"

    def _wait_for_card(self, stop: Stop) -> None:
        """Waits for the card, which may start later than its handler."""
        waits = Waits(self._live)
        while not stop:
            try:
                with self._in_control():
                    if self._handler.state != "configured":
                        return
                    self._begin_run(self._options.run, tries_again=True)
                waits.look("", f"{self._config.name} has its card")
                return
            except UsageError:
                raise
            except Error as error:
                waiting = f"waiting for the card: {error}"
                show(self._live, self._notifier, waiting)
                waits.look(waiting, "")

    def _begin_run(self, number: int, *, tries_again: bool = False) -> None:
        self._renew_report()
        self._handler.start(number, _LOOK_FOR_CARD_NS, tries_again=tries_again)
        self._begin_s = time.monotonic()

    def _end_run(self, drain_s: float) -> None:
        self._handler.stop(int(drain_s * 1e9))
        self._report()

    def _report(self) -> None:
        seconds = time.monotonic() - self._begin_s
        self._reports.append(HandlerReport(self._config.name, seconds, self._handler.report()))

    def _renew_report(self) -> None:
        """Updates the last report: until the next run, collectors may still fetch events."""
        counts = self._handler.report()
        if self._reports and counts.ended and counts.run == self._reports[-1].counts.run:
            self._reports[-1] = replace(self._reports[-1], counts=counts)

    def _watch(self, stop: Stop) -> None:
        recent, told, run_with_overflow, run_of_others = Recent[_Moment](), "", 0, 0
        while not stop:
            time.sleep(_LOOK_S)
            now = _Moment.of(self._handler)
            if now.state in ("running", "paused") and now.trouble != told:
                told = now.trouble
                self._live.say(told or "the card is back, or sends blocks of its groups again")
            if now.overflows and now.run != run_with_overflow:
                run_with_overflow = now.run
                self._live.say(f"payloads are left out of fragments ({_NO_ROOM}")
            if now.unplaced > max(now.packets / 2, _FEW_PACKETS) and now.run != run_of_others:
                run_of_others = now.run
                self._live.say(WRONG_NUMBERS)
            show(self._live, self._notifier, now.sentence(recent.since(now), time.monotonic() - self._begin_s))

    @contextlib.contextmanager
    def _in_control(self) -> Iterator[None]:
        """Waits until no request for control is at work, which may take as long as `--drain`."""
        while not self._control_lock.acquire(timeout=_LOOK_S):
            self._notifier.alive(lambda: "waiting for a request for control")
        try:
            yield
        finally:
            self._control_lock.release()

    def _control(self, verb: str, body: str) -> tuple[int, str]:
        """Answers POST /control/VERB with an HTTP status and a text. The thread of the monitor calls it."""
        if verb not in _VERBS:
            return 404, f"there is no '{verb}': send one of {', '.join(_VERBS)}\n"
        try:
            number = _run_number(verb, body.strip())
        except UsageError as error:
            return 400, f"{error}\n"
        try:
            with self._control_lock:
                if self._is_leaving.is_set():
                    return 409, f"{self._config.name} is ending\n"
                self._do(verb, number)
                of_run = f" in run {self._handler.run}" if verb == "start" else ""
                return 200, f"{self._config.name} is {self._handler.state}{of_run}\n"
        except UsageError as error:
            return 409, f"{error}\n"
        except Error as error:
            return 503, f"{error}\n"

    def _do(self, verb: str, number: int | None) -> None:
        if verb == "start":
            self._begin_run(self._next_run() if number is None else number)
        elif verb == "stop":
            if self._handler.state not in ("running", "paused"):
                raise UsageError(f"{self._config.name} is {self._handler.state}: there is no run to stop")
            self._end_run(self._options.drain_s)
        else:
            getattr(self._handler, verb)()

    def _next_run(self) -> int:
        if not self._handler.run:
            return self._options.run
        if self._handler.run == _LARGEST_RUN:
            raise UsageError(f"there is no run number after {_LARGEST_RUN}: send the number of the next run")
        return self._handler.run + 1


def _run_number(verb: str, body: str) -> int | None:
    """Returns the run number that was sent with a verb, or None. Raises UsageError for anything else."""
    if not body:
        return None
    if verb != "start":
        raise UsageError(f"{verb} takes no body ({len(body)} bytes were sent): send none")
    if not (body.isascii() and body.isdigit() and len(body) <= len(str(_LARGEST_RUN))):
        raise UsageError(f"the body is not a run number: send digits, 1 to {_LARGEST_RUN}")
    if not 1 <= int(body) <= _LARGEST_RUN:
        raise UsageError(f"{int(body)} is not a run number: send a number from 1 to {_LARGEST_RUN}")
    return int(body)


@dataclass(frozen=True)
class _Moment:
    time_s: float
    state: str
    trouble: str
    run: int
    overflows: int
    events: int
    packets: int
    unplaced: int
    incomplete: int
    sent_bytes: int
    fill: float
    busy_ns: int

    @classmethod
    def of(cls, handler: _core.Handler) -> "_Moment":
        trouble = handler.trouble()  # before the state: a run that has ended since then has none
        report = handler.report()
        groups = report.groups
        return cls(
            time_s=time.monotonic(),
            state=handler.state,
            trouble=trouble,
            run=report.run,
            overflows=sum(group.overflows for group in groups),
            events=max((group.complete + group.incomplete for group in groups), default=0),
            packets=sum(stream.packets for group in groups for stream in group.streams),
            unplaced=sum(getattr(stream, path) for group in groups for stream in group.streams for path in ODD_PATHS),
            incomplete=sum(group.incomplete for group in groups),
            sent_bytes=report.bytes_sent,
            fill=max((group.fill for group in groups), default=0.0),
            busy_ns=report.builder.busy_ns,
        )

    def sentence(self, before: "_Moment", elapsed_s: float) -> str:
        if self.state not in ("running", "paused"):
            verbs = "start" if self.state == "configured" else "configure, and then /control/start,"
            return f"{self.state}: send POST /control/{verbs} to begin a run"
        before = self._counted_like(before)
        seconds = max(self.time_s - before.time_s, 1e-9)
        busy = min(1.0, (self.busy_ns - before.busy_ns) / 1e9 / seconds)
        state = " (paused)" if self.state == "paused" else ", waiting for collectors" if busy > _MOSTLY else ""
        return (
            f"{as_duration(elapsed_s)}: {(self.events - before.events) / seconds:,.0f} events/s, "
            f"{(self.packets - before.packets) / seconds / 1e6:,.2f} M packets/s, "
            f"{self._sent_since(before)}, {self.incomplete:,} incomplete, "
            f"index {self.fill:.0%} full, busy {busy:.0%}{state}"
        )

    def _counted_like(self, before: "_Moment") -> "_Moment":
        """Returns `before`, or zeros at its time if another run has begun since: its counts begin at zero."""
        if self.packets >= before.packets and self.busy_ns >= before.busy_ns:
            return before
        return replace(before, events=0, packets=0, sent_bytes=0, busy_ns=0)

    def ending_sentence(self, before: "_Moment") -> str:
        return f"waiting for collectors to fetch the rest: {self._sent_since(before)} (Ctrl-C: do not wait)"

    def _sent_since(self, before: "_Moment") -> str:
        return f"{as_bytes((self.sent_bytes - before.sent_bytes) / max(self.time_s - before.time_s, 1e-9))}/s sent"
