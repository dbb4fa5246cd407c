"""One handler of the host: its process, which is started again, what it says about itself, and requests for control."""

from __future__ import annotations

import http.client
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from thalweg._base.errors import SystemError, text_of  # noqa: A004
from thalweg._readout.host.asking import STALE_S, Asking, Seen, ask
from thalweg._readout.host.child import WRONG_REQUEST, Child, Ending
from thalweg._readout.host.groups import Group, Share
from thalweg._readout.host.restarts import RestartOptions, Restarts
from thalweg._readout.live import times

CONTROL_WAIT_S = 0.8  # a request for control has an answer within a second, whatever the handler does
_LARGEST_RUN = 2**32 - 1
_LONGEST_CONTROL_S = 60.0  # beside the time for draining


@dataclass(frozen=True)
class HandlerOptions:
    """How the processes of all handlers are started: the options of `thalweg readout serve`."""

    config: Path
    run: int = 1
    drain: str = "10s"
    drain_s: float = 10.0
    hold: bool = False
    json: bool = False
    restarts: RestartOptions = field(default_factory=RestartOptions)


class HostedHandler:
    """A handler that is kept running. The main thread calls `start`, `look` and `end`; pages may call the rest."""

    def __init__(
        self, name: str, options: HandlerOptions, socket: Path, pinning: str, group: Group, share: Share,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.name, self.group = name, group
        self._options, self._socket, self._pinning, self._share = options, socket, pinning, share
        self._restarts = Restarts(options.restarts)
        self._say_as_host = say
        self._asking = Asking(socket)
        self._control = threading.Lock()
        self._child: Child | None = None
        self._next_s: float | None = 0.0  # when it is started; None: never again
        self._is_in_run, self._run = not options.hold, options.run  # of the next process
        self._last_said = ""  # by its process, which may have said why it ends
        self._why_ended = "it was asked to end"
        self.starts = 0
        self.is_given_up = False
        self.endings: list[Ending] = []
        self.failures = dict.fromkeys(("exit", "signal", "memory"), 0)
        self.results: list[str] = []

    def _pass_said(self, text: str) -> None:
        self._last_said = text
        self._say(text)

    def _say(self, text: str) -> None:
        self._say_as_host(f"{self.name}: {text}")

    # The process

    def command(self) -> list[str]:
        """Returns the command line of its next process. After a failure in a run it goes on in this run."""
        options = self._options
        words = [sys.executable, "-P", "-m", "thalweg", "readout", "serve", "--config", str(options.config)]
        words += ["--handler", self.name, "--run", str(self._run), "--drain", options.drain, "--quiet"]
        words += ["--control-socket", str(self._socket)]
        words += ["--pinning", self._pinning] if self._pinning else []
        words += [] if self._is_in_run else ["--hold"]
        return words + (["--json"] if options.json else [])

    @property
    def pid(self) -> int:
        """The number of its process, or 0 if it has none now."""
        child = self._child
        return child.pid if child else 0

    @property
    def is_running(self) -> bool:
        return self._child is not None

    def start_if_due(self) -> None:
        if self._child is None and self._next_s is not None and time.monotonic() >= self._next_s:
            self._asking.forget()
            self.starts += 1
            self._last_said = ""
            try:
                self._child = Child(self.command(), self.group, self._share, self._pass_said)
            except SystemError as error:  # the machine is short of memory or processes: the others go on
                self._fail("exit", str(error))

    def look(self) -> None:
        """Sees whether the process has ended, and decides what is done then."""
        if self._child is not None and (ending := self._child.ending()):
            self._take(self._child, ending)
            if not ending.asked:
                self._fail(ending.why, ending.sentence(), is_wrong_request=ending.code == WRONG_REQUEST)

    def ask_to_end(self) -> None:
        """Asks for an orderly end, or for one at once if it was asked before."""
        self._next_s, self._why_ended = None, "it was asked to end"
        if self._child is not None:
            self._child.ask_to_end()

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        self._asking.stop()

    def _take(self, child: Child, ending: Ending) -> None:
        seen = self._asking.seen
        if seen.run:  # of a run that is over, the number is not used again
            self._is_in_run = seen.is_in_run
            self._run = seen.run if seen.is_in_run else min(seen.run + 1, _LARGEST_RUN)
        self._child = None
        self._asking.forget()
        self.endings.append(ending)
        if text := child.result():
            self.results.append(text)

    def _fail(self, kind: str, what: str, *, is_wrong_request: bool = False) -> None:
        self.failures[kind] += 1
        said = f", after it had said: {self._last_said}" if kind == "exit" and self._last_said else ""
        self._why_ended = f"{what}{said}"
        delay_s = None if is_wrong_request else self._restarts.delay_s(time.monotonic())
        if delay_s is None:
            self.is_given_up, self._next_s = True, None
            limits = self._options.restarts
            often = f"it has failed {times(limits.failures)} within {limits.within_s:g} s"
            why = "its request is wrong, and stays wrong" if is_wrong_request else often
            self._say(f"{what}; it is given up, and not started again ({why})")
        else:
            self._next_s = time.monotonic() + delay_s
            self._say(f"{what}; it is started again in {delay_s:g} s")

    # What pages show

    @property
    def seen(self) -> Seen:
        return self._asking.seen

    @property
    def is_up(self) -> bool:
        seen = self._asking.seen
        return self.is_running and seen.is_there and seen.age_s() <= STALE_S

    def not_ready(self) -> str:
        """Returns why no events come from it; empty if they do."""
        seen = self._asking.seen
        if self.is_given_up:
            return f"it is given up ({self._why_ended})"
        if not self.is_running and not self.starts:
            return "it is not started yet"
        if not self.is_running:
            again = ", and is started again soon" if self._next_s is not None else ""
            return f"it does not run{again} ({self._why_ended})"
        if seen.is_there and seen.age_s() > STALE_S:
            return f"it has not answered for {seen.age_s():.0f} s"
        child = self._child
        if not seen.is_there and child:
            return f"it was started {child.age_s():.0f} s ago, and has not answered yet"
        return seen.not_ready

    def control(self, verb: str, body: bytes) -> tuple[int, str]:
        """Passes a request for control on. Returns the answer, or what is known of it within a second."""
        if not self.is_up:
            return 503, f"{self.name} is not up ({self.not_ready()}): the request was not sent\n"
        if not self._control.acquire(blocking=False):
            return 503, f"{self.name} is still doing the request before: ask again later\n"
        answers: list[tuple[int, str]] = []
        passing = threading.Thread(target=self._pass_on, args=(verb, body, answers), daemon=True)
        passing.start()
        passing.join(CONTROL_WAIT_S)
        if answers:
            return answers[0]
        return (
            202,
            f"{self.name} has not answered within {CONTROL_WAIT_S:g} s: /readyz and /metrics show what it does\n",
        )

    def _pass_on(self, verb: str, body: bytes, answers: list[tuple[int, str]]) -> None:
        began_s = time.monotonic()
        longest_s = self._options.drain_s + _LONGEST_CONTROL_S
        try:
            answer = ask(self._socket, "POST", f"/control/{verb}", body, longest_s)
        except (OSError, http.client.HTTPException) as error:
            answer = 503, f"{self.name} has not answered ({text_of(error)})\n"
        finally:
            self._control.release()
        answers.append(answer)
        self._asking.look_soon()
        if time.monotonic() - began_s > CONTROL_WAIT_S:
            self._say(f"{verb}, which was asked for {time.monotonic() - began_s:.1f} s ago: {answer[1].strip()}")
