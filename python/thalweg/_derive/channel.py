"""The connection between the process of a job and a worker. It never waits for the rest of a message."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_LENGTH = struct.Struct("<Q")  # the size of a message, which stands before it
_MOST_AT_ONCE = 1 << 20


class MessageChannel:
    """One end of a connection. `fileno` lets `multiprocessing.connection.wait` wait for messages."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._arrived = bytearray()
        self.has_ended = False
        """Whether nothing more can arrive: the other end is closed in all processes that had it."""

    @staticmethod
    def pair() -> tuple[MessageChannel, MessageChannel]:
        ours, theirs = socket.socketpair()
        return MessageChannel(ours), MessageChannel(theirs)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Any) -> None:
        """Raises OSError if the other end is closed."""
        text = pickle.dumps(message)
        self._socket.sendall(_LENGTH.pack(len(text)) + text)

    def receive(self) -> Any:
        """Waits for a message. Raises EOFError if the other end is closed."""
        while (message := self._take()) is None:
            if not (more := self._socket.recv(_MOST_AT_ONCE)):
                raise EOFError("the connection has ended")
            self._arrived += more
        return pickle.loads(message)

    def arrived(self) -> Iterator[Any]:
        """Yields the messages that have arrived as a whole, without waiting.

        A worker may die in the middle of a message, and a process that it has started may keep its end open: the rest
        would never come, and neither would the end."""
        with suppress(BlockingIOError):
            while more := self._receive_now():
                self._arrived += more
            self.has_ended = True
        while (message := self._take()) is not None:
            yield pickle.loads(message)

    def close(self) -> None:
        self._socket.close()

    def _receive_now(self) -> bytes:
        try:
            return self._socket.recv(_MOST_AT_ONCE, socket.MSG_DONTWAIT)
        except ConnectionError:  # the worker ended before it read all that it was told
            return b""

    def _take(self) -> bytes | None:
        """Returns the first message, or None if it has not arrived as a whole."""
        if len(self._arrived) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._arrived)[0]
        if len(self._arrived) < end:
            return None
        message = bytes(self._arrived[_LENGTH.size : end])
        del self._arrived[:end]
        return message
