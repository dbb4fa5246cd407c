"""A card, handlers and collectors as real programs: killed, stopped in any order, starved, and shouted at.

Whatever happens, every event in a file is right, none is there twice, and what is missing was counted.
"""

import contextlib
import itertools
import os
import random
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from readout_judge import INCOMPLETE, RESTART, Events, expect_right
from readout_programs import THALWEG, Make, Program, Readout, stop_all, wait_for

import thalweg
from thalweg.readout import Client, Event

TIMES, TIMES_LONG = 2, 30  # for each test in which something is killed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Draws after how many seconds something dies."""
    if "moment_s" in metafunc.fixturenames:
        times = TIMES_LONG if metafunc.config.getoption("--long") else TIMES
        moments = [round(random.Random(number).uniform(0, 0.5), 3) for number in range(times)]
        metafunc.parametrize("moment_s", moments)


def expect_accounted(events: Events, counters: dict[str, int]) -> None:
    """Checks that every number from the first to the last is there or was counted."""
    numbers = int(events.event.max() - events.event.min()) + 1
    missing = sum(counters[name] for name in ("absent", "cleared", "evicted", "lost", "gaps"))
    assert counters["events"] == len(events.event)
    assert numbers - len(events.event) == missing, counters


def expect_balance(handler: Program) -> None:
    """Checks that every packet and every fragment is in one account, and that nothing was skipped or discarded."""
    for report in handler.answer:
        assert report["balances"]
        assert report["lost"] == 0


def read(readout: Readout, *names: str) -> Events:
    """Reads several files as if they were one; an event may be in two of them."""
    return Events.together([expect_right(readout.folder / name, readout) for name in names])


def expect_all_events(readout: Readout, *files: str) -> None:
    """Checks that each event that the card has sent is complete in at least one of the files."""
    events = read(readout, *files)
    np.testing.assert_array_equal(np.unique(events.event) & 0xFFFFFFFF, np.arange(readout.tally["events"]))
    assert (events.state == 0).all()


@pytest.mark.parametrize("is_noticed", [True, False])
def test_kill_9_of_the_card(make: Make, moment_s: float, is_noticed: bool) -> None:
    readout = make()
    card, (handler,), collector = readout.run("run.root")
    time.sleep(moment_s)
    card.kill()
    died_s = time.monotonic()
    if is_noticed:  # before another one takes its place
        handler.wait_for("is gone")
        assert time.monotonic() - died_s < 10  # a second, and what a busy machine adds
        assert readout.ask("/readyz")[0] == 503
        assert readout.ask("/healthz")[0] == 200
    before = readout.metric("packets_total")
    card = readout.card("--tally", readout.folder / "tally.json")
    wait_for(lambda: readout.metric("packets_total") > before + 2000, "the second card is read")
    stop_all(card, handler, collector)
    expect_balance(handler)
    assert handler.answer[0]["cards_gone"] >= 1 or not is_noticed
    assert handler.said.count("is gone") <= 1
    events = read(readout, "run.root")
    assert collector.answer["counters"]["events"] == len(events.event)
    assert events.epochs == [1, 2]
    for epoch in events.epochs:
        l1ids = events.of_epoch(epoch)
        np.testing.assert_array_equal(l1ids, np.arange(len(l1ids)))
    assert (events.state[events.event >> 32 == 2] == 0).all()
    assert len(events.of_epoch(2)) == readout.tally["events"]


def test_a_card_that_is_gone_is_not_said_to_be_back_when_its_run_is_stopped(make: Make) -> None:
    readout = make(token="secret")
    card = readout.card()
    handler = readout.handler(0, "--drain", "100ms")
    wait_for(lambda: readout.metric("packets_total") > 0, "the card is read")
    card.kill()
    handler.wait_for("is gone")
    assert readout.control("stop") == 200
    time.sleep(1)  # it looks ten times a second
    handler.stop(1)
    assert "is back" not in handler.said


@pytest.mark.parametrize("handlers", [1, 2])
def test_kill_9_of_a_handler(make: Make, moment_s: float, handlers: int) -> None:
    readout = make(handlers=handlers)
    card, (first, *others), collector = readout.run("run.root")
    time.sleep(moment_s)
    first.kill()
    time.sleep(moment_s / 2)
    first = readout.handler(0)
    readout.wait_for_clears()
    stop_all(card, first, *others, collector)
    for each in (first, *others):
        expect_balance(each)
    events = read(readout, "run.root")
    counters = collector.answer["counters"]
    assert counters["reconnects"] >= 1
    expect_accounted(events, counters)
    expect_restart_is_marked(events)
    assert int(events.event.max() & 0xFFFFFFFF) == readout.tally["events"] - 1


def expect_restart_is_marked(events: Events) -> None:
    """Checks that nothing was lost before the handler died, and that events around its restart say why they are
    incomplete."""
    torn = events.fragment_event[events.fragment_status & INCOMPLETE != 0]
    assert (events.fragment_status[events.fragment_status & INCOMPLETE != 0] & RESTART != 0).all()
    assert len(torn) == 0 or torn.max() - torn.min() < 2000


def test_kill_9_of_a_collector(make: Make, moment_s: float) -> None:
    readout = make(lease="1s")
    card, (handler,), collector = readout.run("first.root")
    time.sleep(moment_s)
    collector.kill()
    readout.recover("first.root")
    second = readout.collector("second.root")
    readout.wait_for_clears()
    stop_all(card, handler, second)
    expect_balance(handler)
    expect_all_events(readout, "first.root", "second.root")


def test_a_collector_that_slept_longer_than_its_lease(make: Make) -> None:
    readout = make(lease="1s")
    card, (handler,), sleeper = readout.run("sleeper.root")
    sleeper.process.send_signal(signal.SIGSTOP)
    other = readout.collector("other.root")
    readout.wait_for_clears()
    time.sleep(1.5)
    sleeper.process.send_signal(signal.SIGCONT)
    readout.wait_for_clears()
    stop_all(card, handler, sleeper, other)
    expect_balance(handler)
    expect_all_events(readout, "sleeper.root", "other.root")


def test_two_collectors_share_the_events(make: Make) -> None:
    readout = make()
    handler = readout.handler()
    collectors = [readout.collector(name) for name in ("one.h5", "two.root")]
    wait_for(lambda: readout.metric("connections") == 2, "both are there")
    card = readout.card("--tally", readout.folder / "tally.json", rate="10kHz")
    files = [readout.folder / name for name in ("one.h5", "two.root")]
    wait_for(lambda: all(len(thalweg.open(file)["events"]) for file in files), "both have some")
    stop_all(card, handler, *collectors)
    expect_balance(handler)
    assert all(each.answer["events"] > 0 for each in collectors)
    events = read(readout, "one.h5", "two.root")
    np.testing.assert_array_equal(np.sort(events.event) & 0xFFFFFFFF, np.arange(readout.tally["events"]))
    assert (events.state == 0).all()


@pytest.mark.parametrize("order", list(itertools.permutations(["card", "handler", "collector"])), ids="-".join)
def test_sigterm_drains_in_every_order(make: Make, order: tuple[str, ...]) -> None:
    readout = make()
    card, (handler,), collector = readout.run("run.root")
    programs, files = {"card": card, "handler": handler, "collector": collector}, ["run.root"]
    for name in order:
        stop_all(programs[name])
        if name == "collector" and not handler.has_ended:
            files.append("rest.root")
            programs["rest"] = readout.collector("rest.root")
            wait_for(lambda: readout.metric("connections") > 0, "the next one is there")
    for each in programs.values():
        each.end()
    assert "sent" in card.result
    assert "stopping: the handler builds what the card has written" in handler.said
    expect_balance(handler)
    events = read(readout, *files)
    assert len(np.unique(events.event)) == len(events.event)
    sent = {link["elink"]: link["packets"] for link in readout.tally["links"]}
    delivered, left = (count_by_elink(handler.answer[0], count) for count in ("delivered", "left"))
    for elink, packets in count_by_elink(handler.answer[0], "packets").items():
        assert events.packets_of(elink) == packets - left[elink] == delivered[elink]
        assert packets == sent[elink] if order.index("card") < order.index("handler") else packets <= sent[elink]


def count_by_elink(report: Any, count: str) -> dict[int, int]:
    return {stream["elink"]: stream[count] for group in report["groups"] for stream in group["streams"]}


def test_a_full_disk(make: Make, tmp_path: Path) -> None:
    readout = make(lease="1s")
    place = tmp_path / "small"
    place.mkdir()
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    mount = f"mount -t tmpfs -o size=40m none {place}"
    if subprocess.run([*unshare, "bash", "-c", mount], check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount here")
    words = shlex.join(map(str, [THALWEG, *readout.collect(place / "run.root", "--codec", "none")]))
    script = f"{mount} && {words}; code=$?; cp {place}/* {tmp_path}; exit $code"
    card = readout.card("--tally", tmp_path / "tally.json", "--packet-bytes", "100-300", rate="3kHz")
    handler = readout.handler()
    readout.start(*unshare, "bash", "-c", script, program="env").end(1)
    said = readout.programs[-1].said
    assert "No space left on device" in said
    assert said.count("thalweg: ") == 1
    if (tmp_path / "run.root.journal").exists():
        readout.recover("run.root")
    rest = readout.collector("rest.root")
    readout.wait_for_clears()
    stop_all(card, handler, rest)
    expect_balance(handler)
    expect_all_events(readout, "run.root", "rest.root")


def test_a_slow_collector_stops_the_card_and_loses_nothing(make: Make) -> None:
    readout = make()
    card = readout.card("--tally", readout.folder / "tally.json", "--events", 40_000, "--json", rate="40kHz")
    handler = readout.handler()
    collector = readout.collector("run.root", "--credit", "20kB", "--range", 64, "--flush-interval", "500ms")
    card.end()
    stop_all(handler, collector)
    expect_balance(handler)
    assert card.answer["stalled_s"] > 0
    assert handler.answer[0]["busy_s"] > 0
    assert collector.answer["counters"]["max_outstanding_bytes"] <= 20_000
    events = read(readout, "run.root")
    np.testing.assert_array_equal(np.sort(events.event) & 0xFFFFFFFF, np.arange(readout.tally["events"]))
    assert (events.state == 0).all()


def make_noise(readout: Readout, stack: contextlib.ExitStack) -> None:
    """Connections that never say a word, or not all of it, and some that talk nonsense."""
    for number in range(200):
        half_open = stack.enter_context(socket.create_connection(("127.0.0.1", readout.port())))
        half_open.send(b"TWGR\x01\x00"[: number % 7])
    for number in range(20):
        with socket.create_connection(("127.0.0.1", readout.port())) as noisy, contextlib.suppress(OSError):
            noisy.sendall(random.Random(number).randbytes(4000))


def test_observers_and_noise_beside_a_run(make: Make) -> None:
    readout = make()
    card, (handler,), collector = readout.run("run.root")
    with contextlib.ExitStack() as stack:
        client, seen = stack.enter_context(watching(readout))
        make_noise(readout, stack)
        for path in ("/metrics", "/healthz", "/readyz"):
            assert readout.ask(path)[0] == 200
        readout.wait_for_clears()
    wait_for(lambda: readout.metric("connections") <= 2, "the noise is gone")
    stop_all(card, handler, collector)
    expect_balance(handler)
    assert collector.answer["counters"]["reconnects"] == 0
    assert len(seen) == len(set(seen)) == client.counters.events > 0
    assert client.counters.wrong == 0
    events = read(readout, "run.root")
    np.testing.assert_array_equal(np.sort(events.event) & 0xFFFFFFFF, np.arange(readout.tally["events"]))
    assert (events.state == 0).all()


def stands_still(readout: Readout) -> bool:
    before = readout.metric("packets_total")
    time.sleep(0.3)
    return readout.metric("packets_total") == before


def test_run_control_over_http(make: Make) -> None:
    readout = make(token="sesame")
    card, (handler,), collector = readout.run("run.root")
    assert readout.control("pause") == 200
    assert readout.ask("/readyz") == (503, "dh0 is paused: POST /control/resume lets it read on\n")
    wait_for(lambda: stands_still(readout), "nothing is read any more")
    assert readout.control("start") == 409
    assert readout.control("hurry") == 404
    assert readout.control("resume") == 200
    readout.wait_for_clears()
    assert readout.control("stop") == 200
    collector.end()
    assert collector.answer["ended_by"] == "run"
    assert readout.control("configure") == 200
    assert readout.control("start") == 200
    collector = readout.collector("second.root")
    readout.wait_for_clears()
    stop_all(card, handler, collector)
    expect_balance(handler)
    sent = {link["elink"]: link["packets"] for link in readout.tally["links"]}
    for report, name in zip(handler.answer, ["run.root", "second.root"], strict=True):
        events = expect_right(readout.folder / name, readout, report["run"])
        assert (events.state == 0).all()
        for elink, packets in count_by_elink(report, "delivered").items():
            assert events.packets_of(elink) == packets
            sent[elink] -= packets
    assert [report["run"] for report in handler.answer] == [1, 2]
    assert set(sent.values()) == {0}  # no packet, and no event, is torn by the end of a run


@contextlib.contextmanager
def watching(readout: Readout) -> Iterator[tuple[Client, list[int]]]:
    """An observer, and the events that it has seen."""
    seen: list[int] = []
    client = Client(readout.address())

    def look(event: Event) -> None:
        if all(each.event == event.event for each in event.fragments):
            seen.append(event.event)

    thread = threading.Thread(target=client.run, args=[look])
    thread.start()
    try:
        yield client, seen
    finally:
        client.stop()
        thread.join()


def expect_sentence(program: Program, code: int, *words: str) -> None:
    program.end(code)
    last = program.said.splitlines()[-1]
    assert last.startswith("thalweg: ")
    assert program.said.count("thalweg: ") == 1
    for word in words:
        assert word in last


def test_requests_that_cannot_be_done(make: Make) -> None:
    readout = make(server='token = "secret"')
    card, (handler,), collector = readout.run("run.root")
    expect_sentence(readout.card(), 2, readout.card_name, str(card.process.pid))
    expect_sentence(readout.handler(), 2, readout.card_name, str(handler.process.pid))
    beside = make(server='token = "secret"')
    beside.use_card_of(readout)
    expect_sentence(beside.handler(), 2, readout.card_name, str(handler.process.pid))
    beside.config.write_text(beside.config.read_text().replace(f":{beside.port(1)}", f":{readout.port(1)}"))
    expect_sentence(beside.handler(), 1, f"127.0.0.1:{readout.port(1)}", "another program listens there")
    (readout.folder / "wrong").write_text("guess\n")
    guess = readout.collector("guess.root", "--token-file", readout.folder / "wrong")
    expect_sentence(guess, 2, readout.address(), "the token is not the one of dh0")
    none = readout.start("readout", "collect", "--handler", readout.address(), "--out", readout.folder / "guess.h5")
    expect_sentence(none, 2, readout.address(), "dh0 wants a token, and none was given")
    assert not list(readout.folder.glob("guess*"))
    expect_sentence(readout.collector("run.root"), 2, "run.root")
    readout.wait_for_clears()
    stop_all(card, handler, collector)
    expect_right(readout.folder / "run.root", readout)


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ("lease =", "laese =", "'laese'"),
        ('"20s"', '"1 fortnight"', "fortnight"),
        ("events = 16384", "events = 1000", "no power of two"),
        ("outstanding_events = 4096", "outstanding_events = 40960", "raise index.events"),
        ("elinks = [3, 4, 5]", "elinks = [2, 3, 4]", "e-link 2 is in two groups"),
        ("[readout]", "[readout", "is not TOML"),
    ],
)
def test_configurations_that_are_wrong(make: Make, right: str, wrong: str, word: str) -> None:
    readout = make()
    readout.config.write_text(readout.config.read_text().replace(right, wrong))
    handler, collector = readout.handler(), readout.collector("run.root")
    expect_sentence(handler, 2, word)
    expect_sentence(collector, 2, word)
    assert not list(readout.folder.glob("run*"))


def test_no_card_there(make: Make) -> None:
    readout = make()
    handler = readout.handler()
    handler.wait_for("waiting for the card: handler dh0 has no card")
    assert readout.ask("/healthz")[0] == 200
    status, why = readout.ask("/readyz")
    assert status == 503
    assert why.startswith("dh0 is configured: it tries again and again to begin a run: handler dh0 has no card (")
    assert readout.card_name in why
    stop_all(handler)
    collector = readout.collector("run.root")
    collector.wait_for(f"waiting for {readout.address()}")
    collector.stop(1)
    assert collector.answer["events"] == 0
    assert collector.answer["problem"].startswith(f"no handler could be reached ({readout.address()}: ")
