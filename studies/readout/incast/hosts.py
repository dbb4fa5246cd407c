"""The hosts: servers send what they are asked for, and one client asks them all at once."""

import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from readout.incast.network import NetworkError, address_of

PORT = 9100
REQUEST = struct.Struct("<Q")
TOTAL_RETRANSMISSIONS = struct.Struct("<100xI")  # tcpi_total_retrans of struct tcp_info, linux/tcp.h
WARM_UP_BATCHES = 5


def server(congestion: str, part_bytes: int) -> Callable[[Connection], object]:
    """Serves until the client has gone. Returns how many segments were sent again."""

    def work(pipe: Connection) -> int:
        with socket.create_server(("", PORT)) as listener:
            try:
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
            except OSError as error:
                raise NetworkError(f"no congestion control '{congestion}': {error.strerror}") from error
            listener.settimeout(30)
            pipe.send("listening")
            peer, _ = listener.accept()  # inherits the congestion control
        part = bytes(part_bytes)
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while request := peer.recv(REQUEST.size):
                peer.sendall(part[: REQUEST.unpack(request)[0]])
            information = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            return int(TOTAL_RETRANSMISSIONS.unpack_from(information)[0])

    return work


@dataclass
class Limits:
    part_bytes: int  # that each server has of a batch
    credit_bytes: int  # asked for and not yet here, of all servers together; 0: no limit
    batches: int
    seconds: float


class Client:
    def __init__(self, servers: int, limits: Limits) -> None:
        self.limits = limits
        self.selector = selectors.DefaultSelector()
        self.sockets = [socket.create_connection((address_of(1 + i), PORT), timeout=30) for i in range(servers)]
        for each in self.sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setblocking(False)
            self.selector.register(each, selectors.EVENT_READ)
        self.room = bytearray(1 << 18)

    def batch(self) -> float:
        """Asks all servers for a part of the same events. Returns the seconds until everything has arrived."""
        part, credit = self.limits.part_bytes, self.limits.credit_bytes
        begin = time.monotonic()
        to_ask = deque(self.sockets)
        missing: dict[socket.socket, int] = {}
        while to_ask or missing:
            while to_ask and (not credit or not missing or sum(missing.values()) + part <= credit):
                each = to_ask.popleft()
                each.send(REQUEST.pack(part))
                missing[each] = part
            for key, _ in self.selector.select(timeout=10):
                each = key.fileobj  # type: ignore[assignment]
                received = each.recv_into(self.room)
                if received == 0:
                    raise NetworkError("a server has gone")
                missing[each] -= received
                if missing[each] == 0:
                    del missing[each]
        return time.monotonic() - begin

    def run(self) -> list[float]:
        for _ in range(WARM_UP_BATCHES):
            self.batch()
        end = time.monotonic() + self.limits.seconds
        latencies: list[float] = []
        while len(latencies) < self.limits.batches and (not latencies or time.monotonic() < end):
            latencies.append(self.batch())
        for each in self.sockets:
            each.close()
        return latencies


def client(servers: int, limits: Limits) -> Callable[[Connection], object]:
    def work(pipe: Connection) -> list[float]:
        pipe.send("linked")
        pipe.recv()  # the servers listen
        return Client(servers, limits).run()

    return work
