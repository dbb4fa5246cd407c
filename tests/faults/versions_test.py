"""Collectors and handlers of different releases: they refuse each other, with both versions, and nothing else ends."""

import contextlib
import socket
import struct
import threading

import pytest
from readout_programs import Make, stop_all, wait_for
from readout_test import expect_all_events, expect_balance

MARKER, HELLO, REFUSED, MALFORMED = 0x52475754, 1, 20, 1
HEAD = struct.Struct("<IHHII")
VERSION, OLD = 4, 3


def receive(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            break
        got += more
    return got


def test_a_collector_of_an_older_release_is_refused_with_both_versions(make: Make) -> None:
    readout = make()
    card, (handler,), collector = readout.run("run.root")
    with socket.create_connection(("127.0.0.1", readout.port())) as old:
        old.sendall(HEAD.pack(MARKER, OLD, HELLO, 24, 7) + bytes(24))
        marker, version, kind, length, tag = HEAD.unpack(receive(old, HEAD.size))
        why, _run = struct.unpack_from("<II", body := receive(old, length))
        assert receive(old, 1) == b"", "the connection ends"
    assert (marker, version, kind, tag, why) == (MARKER, OLD, REFUSED, 0, MALFORMED)
    sentence = body[8:].decode()
    assert f"this handler speaks version {VERSION} of the protocol, and the client version {OLD}" in sentence
    assert readout.metric("refusals_total", '"malformed"') == 1
    readout.wait_for_clears()
    stop_all(card, handler, collector)
    expect_balance(handler)
    expect_all_events(readout, "run.root")
    assert collector.answer["counters"]["reconnects"] == 0


class OldHandler:
    """Answers each hello as a handler of another release: with a refusal, or in its own version."""

    def __init__(self, port: int, *, refuses: bool) -> None:
        self._refuses = refuses
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                head = receive(connection, HEAD.size)
                if len(head) < HEAD.size:  # the client has gone
                    continue
                _, version, _, length, tag = HEAD.unpack(head)
                receive(connection, length)
                if self._refuses:
                    words = f"this handler speaks version {OLD} of the protocol, and the client version {version}"
                    body = struct.pack("<II", MALFORMED, 0) + words.encode()
                    connection.sendall(HEAD.pack(MARKER, version, REFUSED, len(body), tag) + body)
                else:
                    connection.sendall(HEAD.pack(MARKER, OLD, 16, 48, tag) + bytes(48))
                with contextlib.suppress(ConnectionResetError):
                    receive(connection, 1)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.mark.parametrize("refuses", [True, False], ids=["refuses", "answers"])
def test_a_collector_says_which_handler_is_of_an_older_release_and_goes_on_when_that_is_mended(
    make: Make, refuses: bool
) -> None:
    readout = make(handlers=2)
    card = readout.card("--tally", readout.folder / "tally.json")
    first = readout.handler(0)
    old = OldHandler(readout.port(2), refuses=refuses)
    collector = readout.collector("run.root", "--interval", "100ms")
    whose = ("this handler speaks", "the client") if refuses else ("it speaks", "this client")
    words = f"{whose[0]} version {OLD} of the protocol, and {whose[1]} version {VERSION}"
    wait_for(lambda: f"waiting for {readout.address(1)} ({words}" in collector.said, f"it says so: {collector.said}")
    assert not collector.has_ended
    old.close()
    second = readout.handler(1)
    readout.wait_for_clears()
    stop_all(card, first, second, collector)
    expect_all_events(readout, "run.root")
