"""A handler for tests, in plain Python and from the documents alone: it makes up events and serves them."""

import socket
import struct
import threading

HEAD = struct.Struct("<IHHII")
MARKER, VERSION = 0x52475754, 4
HELLO, TAKE, GET, CLEAR, BYE, WELCOME, TAKEN, EVENTS, CLEARED, REFUSED = 1, 2, 3, 4, 5, 16, 17, 18, 19, 20
WRONG_RUN = 3
STREAMS = 2


def payload(event: int, source: int, stream: int) -> bytes:
    return bytes((event * 7 + source * 13 + stream + i) % 251 for i in range(5 + (event + stream) % 9))


def fragment(run: int, event: int, source: int) -> bytes:
    entries, body, at = b"", b"", 64 + 4 * STREAMS
    for stream in range(STREAMS):
        data = payload(event, source, stream)
        entries += struct.pack("<HH", at // 4, len(data))
        padded = data + bytes(-len(data) % 4)
        body, at = body + padded, at + len(padded)
    header = struct.pack(
        "<IHHIIQIIQQHHIII",
        *(0x46475754, 1, 64 + 4 * STREAMS, at, 0, event, run, source, 3, 3),
        *(event % 3564, STREAMS, 0x80, 10 + event % 50, 0),
    )
    return header + entries + body


class Handler:
    """Events [first, first + events) of one run; every `absent`-th is not there."""

    def __init__(
        self, *, first: int = 1 << 32, events: int = 2000, sources: tuple[int, ...] = (1, 2, 3), absent: int = 0
    ):
        self.run, self.first, self.end, self.sources, self.absent = 7, first, first + events, sources, absent
        self.next = first
        self.leased: set[tuple[int, int]] = set()
        self.free: list[tuple[int, int]] = []
        self.cleared: set[int] = set()
        self.takes = 0  # how often a client asked for events
        self.closed = self.end  # events from here on are not there yet
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as stream:
            try:
                while head := stream.read(HEAD.size):
                    marker, version, kind, length, tag = HEAD.unpack(head)
                    assert (marker, version) == (MARKER, VERSION)
                    body = stream.read(length)
                    with self._lock:
                        answer = self._answer(kind, body)
                    if answer:
                        peer.sendall(HEAD.pack(MARKER, VERSION, answer[0], len(answer[1]), tag) + answer[1])
            except OSError:
                pass
            with self._lock:  # leases that no client holds any more
                self.free += sorted(self.leased)
                self.leased.clear()

    def _answer(self, kind: int, body: bytes) -> tuple[int, bytes] | None:
        if kind == HELLO:
            sizes = len(self.sources), self.first, self.end, 2, len(self.sources) * 120, 10**10
            return WELCOME, struct.pack("<QIIQQIIQ", 42, self.run, *sizes)
        if kind == TAKE:
            self.takes += 1
            run, count, _deadline, _least, left_behind, _reserved, _seal = struct.unpack("<IIIIII16s", body[:40])
            if run not in (0, self.run):
                return self._refused()
            if left_behind:
                return TAKEN, struct.pack("<QIIIIII", 0, self.run, 0, int(self.closed == self.end), 0, 0, 0)
            return TAKEN, self._take(count)
        if kind == GET:
            first, run, count, _most, _deadline, _seal = struct.unpack("<QIIII16s", body)
            if run != self.run:
                return self._refused()
            records = b"".join(self._record(event) for event in range(first, first + count))
            return EVENTS, struct.pack("<QQII", first, first + count, self.run, count) + records
        if kind == CLEAR:
            ranges = [(first, count) for first, _run, count, _key in struct.iter_unpack("<QII16s", body)]
            return CLEARED, b"".join(self._clear(*each) for each in ranges)
        return None

    def _refused(self) -> tuple[int, bytes]:
        return REFUSED, struct.pack("<II", WRONG_RUN, self.run) + b"this handler is in another run"

    def _clear(self, first: int, count: int) -> bytes:
        self.cleared |= set(range(first, first + count))
        for lease in [it for it in self.leased if it[0] == first]:
            self.leased.remove(lease)
            if lease[1] > count:
                self.leased.add((first + count, lease[1] - count))
        return struct.pack("<QII", first, count, 1)

    def _take(self, count: int) -> bytes:
        if self.free:
            first, count = self.free.pop(0)
            again = 1
        else:
            first, again = self.next, 0
            count = min(count, self.closed - self.next)
            self.next += count
        if count:
            self.leased.add((first, count))
        is_over = int(not count and self.closed == self.end)
        return struct.pack("<QIIIIII", first, self.run, count, is_over, again, 0, 0)

    def _record(self, event: int) -> bytes:
        if event >= self.end or (self.absent and event % self.absent == 0):
            return struct.pack("<QIBBH", event, 0, 2, 0, 0)
        fragments = b"".join(fragment(self.run, event, source) for source in self.sources)
        return struct.pack("<QIBBH", event, len(fragments), 0, 0, len(self.sources)) + fragments
