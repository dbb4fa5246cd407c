"""Clients that take what others need: a well-behaved collector keeps half of its rate, and the handler its memory.

The attackers speak the protocol by themselves, from docs/formats/readout-protocol.md. `pytest --long -s` attacks with
400 observers and 10,000 silent connections, and tells the rates.
"""

import contextlib
import itertools
import resource
import socket
import statistics
import struct
import threading
import time
from pathlib import Path

import pytest
from readout_programs import Make, Program, Readout, stop_all, wait_for

HEAD = struct.Struct("<IHHII")
MARKER, VERSION = 0x52475754, 4
HELLO, TAKE, GET = 1, 2, 3
COLLECTOR, OBSERVER = 0, 1
FIRST, RUN = 1 << 32, 1
WINDOW_S = 4
_clients = itertools.count(1)


def message(kind: int, body: bytes) -> bytes:
    return HEAD.pack(MARKER, VERSION, kind, len(body), 0) + body


def hello(role: int, client: int) -> bytes:
    return message(HELLO, struct.pack("<IIQQ", role, 0, client, client))


def get(count: int) -> bytes:
    return message(GET, struct.pack("<QIIII16s", FIRST, RUN, count, 1 << 30, 0, bytes(16)))


def connect(readout: Readout) -> socket.socket:
    return socket.create_connection(("127.0.0.1", readout.port()), timeout=20)


def rate(readout: Readout, seconds: float = WINDOW_S) -> float:
    """Returns the fragments per second that become safe in files."""
    before, begin_s = readout.metric("fragments_cleared_total"), time.monotonic()
    time.sleep(seconds)
    return (readout.metric("fragments_cleared_total") - before) / (time.monotonic() - begin_s)


def usual_rate(readout: Readout, pace: str, windows: int) -> float:
    """A collector at its limit gets what others leave it of the machine: the median of more and shorter windows is
    used."""
    if pace != "max":
        return rate(readout, windows * WINDOW_S)
    return statistics.median(rate(readout, WINDOW_S / 2) for _ in range(3 * windows + 3))


def resident_bytes(program: Program) -> int:
    """Returns the memory of the handler: of the process, and of those that it has started."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


@pytest.fixture(params=["15kHz", "max"])
def pace(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> str:
    """The rate of the card: slow enough for any machine, or so that the collector is at its limit."""
    if request.param == "max" and not pytestconfig.getoption("--long"):
        pytest.skip("on a busy machine the rate of a collector at its limit is anything: --long tries it")
    return str(request.param)


def run(make: Make, pace: str = "15kHz", **options: object) -> tuple[Readout, Program, Program, Program]:
    readout = make(**options)
    if pace == "max":  # with a shallow index a collector mostly waits for its disk
        deep = readout.config.read_text().replace("events = 16384", "events = 524288")
        deep = deep.replace("outstanding_events = 4096", "outstanding_events = 262144")
        readout.config.write_text(deep.replace("elinks = ", "fragment_bytes = 256\nelinks = "))
    card, (handler,), collector = readout.run("run.root", rate=pace)
    time.sleep(1)
    return readout, card, handler, collector


def end(*programs: Program) -> None:
    stop_all(*programs)
    assert programs[1].answer[0]["lost"] == 0


def tell(what: str, before: float, during: float, handler: Program, resident: int) -> None:
    share, memory = during / before, resident_bytes(handler) / resident
    print(f"{what}: {before:,.0f} fragments/s before, {during:,.0f} under attack ({share:.2f}); memory {memory:.2f}")


def test_observers_that_ask_and_never_read(make: Make, pace: str, pytestconfig: pytest.Config) -> None:
    readout, card, handler, collector = run(make, pace)
    before, resident = usual_rate(readout, pace, 1), resident_bytes(handler)
    with contextlib.ExitStack() as stack:
        for _ in range(400 if pytestconfig.getoption("--long") else 150):
            observer = stack.enter_context(connect(readout))
            observer.sendall(hello(OBSERVER, next(_clients)) + 60 * get(4096))
        during = usual_rate(readout, pace, 2)
        held = readout.metric("held_bytes", "observer")
    assert during >= 0.5 * before
    assert held <= 65 << 20, "a quarter of server.queued_total"
    wait_for(lambda: resident_bytes(handler) <= 1.1 * resident, "what the attack needed is given back", 20)
    tell(f"unread observers, {pace}", before, during, handler, resident)
    end(card, handler, collector)


def test_connections_that_never_say_hello(make: Make, pace: str, pytestconfig: pytest.Config) -> None:
    count = 800
    if pytestconfig.getoption("--long"):
        count = 10_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < count + 200:
            pytest.skip(f"{hard} files may be open, and {count} connections are to be")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    readout, card, handler, collector = run(make, pace, server="max_connections = 100")
    before, resident = usual_rate(readout, pace, 1), resident_bytes(handler)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connect(readout))
        assert readout.metric("connections") <= 520
        during = usual_rate(readout, pace, 1)
        with connect(readout) as guest:
            guest.sendall(hello(OBSERVER, next(_clients)))
            assert HEAD.unpack(guest.recv(HEAD.size))[2] == 16, "it is welcome"
        wait_for(lambda: readout.metric("connections") <= 5, "they are not waited for", 20)
    assert during >= 0.5 * before
    wait_for(lambda: resident_bytes(handler) <= 1.1 * resident, "what the attack needed is given back", 20)
    tell(f"silent connections, {pace}", before, during, handler, resident)
    end(card, handler, collector)


def keep_for_ever(readout: Readout, stop: threading.Event) -> None:
    """Takes all that it can, renews its leases, and stores nothing."""
    client = next(_clients)
    with connect(readout) as taker:
        taker.settimeout(0.05)
        taker.sendall(hello(COLLECTOR, client))
        while not stop.is_set():
            taker.sendall(message(TAKE, struct.pack("<IIIIII16s", 0, 256, 0, 1, 0, 0, b"x" * 16)))
            with contextlib.suppress(TimeoutError):
                assert taker.recv(1 << 16), "it is let go"
            time.sleep(0.01)


def test_a_client_that_renews_for_ever(make: Make) -> None:
    readout, card, handler, collector = run(make, lease="1s")
    before, resident = rate(readout), resident_bytes(handler)
    stop = threading.Event()
    keeper = threading.Thread(target=keep_for_ever, args=[readout, stop])
    keeper.start()
    during = rate(readout, 4 * WINDOW_S)
    stop.set()
    keeper.join()
    assert during >= 0.5 * before
    tell("endless renewals", before, during, handler, resident)
    end(card, handler, collector)


def control_for_ever(readout: Readout, stop: threading.Event) -> None:
    """Sends verbs that make no sense now, and requests pages, as fast as they are answered."""
    while not stop.is_set():
        readout.control("configure")
        readout.ask("/metrics")


def test_control_requests_without_end(make: Make) -> None:
    readout, card, handler, collector = run(make, token="secret")
    before, resident = rate(readout), resident_bytes(handler)
    stop = threading.Event()
    askers = [threading.Thread(target=control_for_ever, args=[readout, stop]) for _ in range(4)]
    for asker in askers:
        asker.start()
    during = rate(readout)
    stop.set()
    for asker in askers:
        asker.join()
    assert during >= 0.5 * before
    tell("control requests", before, during, handler, resident)
    end(card, handler, collector)
