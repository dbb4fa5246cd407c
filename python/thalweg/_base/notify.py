"""Tells systemd how a service is: the protocol of sd_notify(3), datagrams to the socket that NOTIFY_SOCKET names."""

import os
import socket
import time
from collections.abc import Callable, MutableMapping

_SAY_STATUS_S = 10.0
_OF_WATCHDOG = 1 / 3  # of its time; systemd asks for a message at least each half of it


class Notifier:
    """Without NOTIFY_SOCKET it does nothing. No message that cannot be sent ends a service: `problem` says why. That a
    service is ready, or stops, is said with a later message if systemd did not take it at once.

    The variables are taken out of the environment, so that a program that the service starts does not speak for it.
    """

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        name = environment.pop("NOTIFY_SOCKET", "")
        watchdog = environment.pop("WATCHDOG_USEC", "")
        of_process = environment.pop("WATCHDOG_PID", "")
        is_watched = watchdog.isdigit() and of_process in ("", str(os.getpid()))
        self._interval_s = min(_SAY_STATUS_S, int(watchdog) * 1e-6 * _OF_WATCHDOG) if is_watched else _SAY_STATUS_S
        self._is_watched = is_watched
        self._address = f"\0{name[1:]}" if name.startswith("@") else name  # "@": an abstract socket, without a file
        self._next_s = 0.0
        self._untold: list[str] = []
        self.problem = ""
        if name and not name.startswith(("/", "@")):
            self._address = ""
            self.problem = f"NOTIFY_SOCKET is {name} (neither a path nor an abstract socket): systemd is told nothing"

    def ready(self, status: str) -> None:
        """Says that the service has started. systemd waits for it before it starts what comes after."""
        self._tell("READY=1", status)

    def alive(self, status: Callable[[], str]) -> None:
        """Feeds the watchdog now and then, with a new status. Only the loop that must not hang may call this."""
        now_s = time.monotonic()
        if self._address and (now_s >= self._next_s or self._untold):
            feed = ["WATCHDOG=1"] if self._is_watched else []
            if self._send(*self._untold, *feed, f"STATUS={status()}"):
                self._untold = []
                self._next_s = now_s + self._interval_s

    def stopping(self, status: str) -> None:
        self._tell("STOPPING=1", status)

    def busy(self, longest_s: float) -> None:
        """Gives the watchdog a longer time, for one call that does not come back to the loop for so long."""
        if self._is_watched:
            self._send(f"WATCHDOG_USEC={int(longest_s * 1e6)}", "WATCHDOG=1")

    def _tell(self, what: str, status: str) -> None:
        self._untold.append(what)
        if self._send(*self._untold, f"STATUS={status}"):
            self._untold = []

    def _send(self, *assignments: str) -> bool:
        if not self._address:
            return False
        message = "\n".join(each.replace("\n", " ") for each in assignments)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)  # a manager that does not read must not stop the service
                sender.sendto(message.encode(), self._address)
        except BlockingIOError:  # systemd has not read the messages before
            return False
        except OSError as error:
            self.problem = f"systemd is told nothing: {self._address!r} takes no message ({error.strerror})"
            return False
        return True
