"""Keeps the handlers of one host running until a signal ends them, and reports on them."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._base.notify import Notifier
from thalweg._base.quantities import as_duration
from thalweg._readout.host.folder import own_folder
from thalweg._readout.host.groups import ControlGroups, Group, Share
from thalweg._readout.host.handler import HandlerOptions, HostedHandler
from thalweg._readout.host.http import Admission, HostServer
from thalweg._readout.host.pages import Pages
from thalweg._readout.live import LiveLine, show, times
from thalweg._readout.signals import Stop, listening

_LOOK_S = 0.1
_READY_AFTER_S = 30.0  # a handler that hangs from its start keeps systemd waiting for no longer
_AFTER_DRAIN_S = 15.0  # what a handler may take beside the time for draining
_APART_S = 0.5  # a handler takes signals that come together for one
_AT_ONCE_S = 5.0  # what it may take after a second signal


@dataclass(frozen=True)
class HostOptions:
    """What a host runs. `shares` and `pinnings` have a value for each handler."""

    handlers: HandlerOptions
    shares: dict[str, Share]
    pinnings: dict[str, str]
    sockets: dict[str, str]
    """The control sockets that the configuration names; the other handlers get one in a folder of the host."""
    admission: Admission
    metrics: str = ""
    control_socket: str = ""
    use_groups: bool = True
    quiet: bool = False
    interval_s: float = 1.0


@dataclass(frozen=True)
class HostReport:
    """What became of each handler, and which of them did not end when they were asked to."""

    handlers: Sequence[HostedHandler]
    seconds: float
    killed: Sequence[str] = field(default_factory=tuple)

    @property
    def exit_code(self) -> int:
        """0 if each handler has ended once, because it was asked to, and with 0: what another one had may be lost."""
        endings = [ending for handler in self.handlers for ending in handler.endings]
        is_good = all(ending.asked and ending.code == 0 for ending in endings)
        return 0 if is_good and not any(handler.is_given_up for handler in self.handlers) else 1

    def sentences(self) -> list[str]:
        said = [text for handler in self.handlers for text in handler.results]
        for handler in self.handlers:
            failures = sum(handler.failures.values())
            if failures:
                kinds = ", ".join(f"{count} by {why}" for why, count in handler.failures.items() if count)
                end = "; it was given up" if handler.is_given_up else ""
                said.append(f"{handler.name} failed {times(failures)} ({kinds}): what it held is lost{end}")
        if self.killed:
            said.append(f"killed, because they did not end in time: {', '.join(self.killed)}")
        return [text.rstrip("\n") for text in said]


class Supervisor:
    """The main loop. Only its thread starts processes, because the kernel ends them together with their starter."""

    def __init__(self, options: HostOptions) -> None:
        self._options = options
        self._live = LiveLine(quiet=options.quiet, interval_s=options.interval_s)
        self._say_lock = threading.Lock()
        self._notifier = Notifier()
        self._killed: list[str] = []

    def run(self) -> HostReport:
        """Runs until a signal, or until all handlers are given up. Raises SystemError if it cannot begin."""
        began_s = time.monotonic()
        with own_folder(self._say) as folder, self._groups() as groups:
            handlers = [self._handler(number, name, folder, groups) for number, name in enumerate(self._options.shares)]
            pages = Pages(handlers)
            server = self._serve(pages)
            try:
                with listening() as stop:
                    self._keep_running(handlers, pages, stop)
                    self._notifier.stopping("stopping")
                    self._end(handlers, pages, stop)
            finally:
                self._kill_all(handlers)
                if server:
                    server.close()
        return HostReport(handlers, time.monotonic() - began_s, tuple(self._killed))

    @contextlib.contextmanager
    def _groups(self) -> Iterator[ControlGroups | None]:
        groups = ControlGroups() if self._options.use_groups else None
        for left in groups.left_over if groups else ():
            self._say(f"a control group of a host that has ended cannot be removed: {left}")
        try:
            yield groups
        finally:
            for left in groups.close() if groups else ():
                self._say(f"a control group cannot be removed: {left}")

    def _handler(self, number: int, name: str, folder: Path, groups: ControlGroups | None) -> HostedHandler:
        share = self._options.shares[name]
        group = groups.make(number, share) if groups else Group()
        for controller, what in group.granted.items():
            self._say(f"{name} has a control group for {controller}: {what}")
        for controller, why in group.refused.items():
            self._say(f"{name} has no control group for {controller} ({why}): it goes on without")
        socket = Path(self._options.sockets.get(name, folder / f"{number}.sock"))
        pinning = self._options.pinnings[name]
        return HostedHandler(name, self._options.handlers, socket, pinning, group, share, self._say)

    def _serve(self, pages: Pages) -> HostServer | None:
        options = self._options
        if not options.metrics and not options.control_socket:
            return None
        server = HostServer(options.metrics, options.control_socket, options.admission, pages)
        ways = [f"at {options.control_socket}"] if options.control_socket else []
        ways += ["at the same address with the token"] if options.metrics and options.admission.token else []
        control = " or ".join(ways) or "none (there is neither token_file in the configuration nor --control-socket)"
        self._say(f"metrics and health of the host: {server.url or 'at the same socket'}; control: {control}")
        return server

    def _keep_running(self, handlers: Sequence[HostedHandler], pages: Pages, stop: Stop) -> None:
        began_s, is_told = time.monotonic(), False
        while not stop and not all(handler.is_given_up for handler in handlers):
            for handler in handlers:
                handler.start_if_due()
                handler.look()
            pages.beat()
            if not is_told and (_all_begun(handlers) or time.monotonic() - began_s > _READY_AFTER_S):
                is_told = True
                self._notifier.ready(_sentence(handlers, began_s))
            self._show(_sentence(handlers, began_s))
            time.sleep(_LOOK_S)

    def _end(self, handlers: Sequence[HostedHandler], pages: Pages, stop: Stop) -> None:
        """Drains all handlers at the same time. A second signal ends them at once; what does not end is killed."""
        if stop:
            self._say("stopping: each handler builds what its card has written; collectors fetch the rest")
        else:
            self._say("all handlers are given up: the host ends")
        told, told_s, deadline_s = 0, -math.inf, time.monotonic() + self._options.handlers.drain_s + _AFTER_DRAIN_S
        while any(handler.is_running for handler in handlers) and time.monotonic() < deadline_s:
            if told < min(max(stop.times, 1), 2) and time.monotonic() - told_s > _APART_S:
                told, told_s = told + 1, time.monotonic()
                for handler in handlers:
                    handler.ask_to_end()
                if told == 2:
                    deadline_s = min(deadline_s, time.monotonic() + _AT_ONCE_S)
            for handler in handlers:
                handler.look()
            pages.beat()
            left = [handler.name for handler in handlers if handler.is_running]
            if left:
                self._show(f"waiting for {', '.join(left)} (Ctrl-C: do not wait)")
            time.sleep(_LOOK_S)
        self._live.close()

    def _kill_all(self, handlers: Sequence[HostedHandler]) -> None:
        for handler in handlers:
            if handler.is_running:
                self._killed.append(handler.name)
                self._say(f"{handler.name} has not ended in time: it is killed")
                handler.ask_to_end()
                handler.kill()
        while any(handler.is_running for handler in handlers):
            for handler in handlers:
                handler.look()
            time.sleep(_LOOK_S)
        for handler in handlers:
            handler.close()

    def _show(self, sentence: str) -> None:
        with self._say_lock:
            show(self._live, self._notifier, sentence)

    def _say(self, sentence: str) -> None:
        with self._say_lock:
            self._live.say(sentence)


def _all_begun(handlers: Sequence[HostedHandler]) -> bool:
    return all(handler.is_up or handler.is_given_up for handler in handlers)


def _sentence(handlers: Sequence[HostedHandler], began_s: float) -> str:
    up = [handler for handler in handlers if handler.is_up]
    not_up = [f"{handler.name}: {handler.not_ready()}" for handler in handlers if not handler.is_up]
    text = f"{as_duration(time.monotonic() - began_s)}: {len(up)} of {len(handlers)} handlers are up"
    return f"{text} ({'; '.join(not_up)})" if not_up else text
