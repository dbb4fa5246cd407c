"""Pods of the manifests in real containers, restarted and evicted while a card writes.

Commands, environment, mounts, probes and limits are those of the manifests as they are. Whatever happens, each event
that the card has sent is in a file or was counted, and an event that lacks a fragment is marked as incomplete.
"""

import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import MakeReadout
from kubelet import End
from readout_programs import THALWEG, wait_for
from readouts import OnNode

TIMES = 20
HANDLERS = 4
# Collectors count an event of which they have nothing in one of these.
COUNTS = ("absent", "cleared", "evicted", "lost", "gaps")
BOOKS = "the books balance: every packet and every fragment is accounted for once"


def end_of_all(readout: OnNode) -> list[End]:
    """Ends the card, then handlers, then the collector, and returns how the handlers ended."""
    assert readout.controller.pods["card"].delete().code == 0
    ends = [readout.handler(number).delete() for number in range(readout.handlers)]
    readout.end_of_collector()
    return ends


def expect_drained(end: End) -> None:
    assert end.code == 0, end
    assert BOOKS in end.said, end.said
    assert "discarded" not in end.said
    assert "skipped" not in end.said


def expect_accounted(readout: OnNode) -> None:
    """Checks that each event is in a file or was counted, and that each one without a fragment is marked (`read` checks
    the marks) and counted."""
    events, counters, sent = readout.read(), readout.counters(), readout.tally["events"]
    counted = sum(counters[name] for name in COUNTS)
    incomplete = int(np.count_nonzero(events.state != 0))
    print(f"{sent} events sent, {len(events.event)} in files, {counted} counted as missing, {incomplete} incomplete")
    assert len(np.unique(events.event)) + counted == sent, counters  # two files may have an event, told by its number
    assert counters["incomplete"] == incomplete
    assert counters["wrong"] == 0


@pytest.mark.timeout(5400)
def test_rolling_restarts(make_readout: MakeReadout) -> None:
    """As the controller of StatefulSets does: one after the other, the last one first, and each when the one before is
    ready. A pod has another address after that. The first handler gives out events, so its end is that of the run for
    a collector, which ends well and is started again; between two rollouts lie more than ten minutes in life."""
    readout = make_readout(HANDLERS)
    _, _, collector = readout.run()
    begin_s = time.monotonic()
    for _ in range(TIMES):
        collector.restarts_long_ago = collector.restarts
        for number in reversed(range(HANDLERS)):
            end, made = readout.controller.replace(readout.handler(number))
            expect_drained(end)
            assert made.restarts == 0, made.ends
            readout.wait_for_clears(number)
    print(f"{TIMES} rolling restarts of {HANDLERS} handlers in {time.monotonic() - begin_s:.0f} s")
    for end in end_of_all(readout):
        expect_drained(end)
    expect_accounted(readout)


@pytest.mark.timeout(3600)
def test_evictions_of_handlers(make_readout: MakeReadout) -> None:
    """Each is killed at once, as on a node that has no time left, and another pod takes its place. Its neighbours go
    on: their containers are not restarted."""
    readout = make_readout(HANDLERS)
    readout.run()
    for time_ in range(TIMES):
        victim = readout.handler(time_ % HANDLERS)
        neighbours = [each for each in readout.controller.pods.values() if each is not victim]
        end, _ = readout.controller.replace(victim, grace_s=0)
        assert (end.code, end.memory) == (137, 0)
        readout.wait_for_clears(time_ % HANDLERS)
        for each in neighbours:
            assert [it.code for it in each.ends] in ([], [0]), each.ends  # a collector ends with the run
    for end in end_of_all(readout):
        assert BOOKS in end.said, end.said
    expect_accounted(readout)


def recover(files: list[Path]) -> None:
    for path in files:
        if path.with_name(f"{path.name}.journal").exists():
            # Code 1: its memory was that of its pod, and has gone with it. Handlers keep what was not durable.
            done = subprocess.run([THALWEG, "recover", path], capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            assert "is complete" in done.stdout, done.stdout


@pytest.mark.timeout(3600)
def test_evictions_of_the_collector_lose_nothing(make_readout: MakeReadout) -> None:
    """Each event is complete in one of the files at least. What two files have is told by its run and number."""
    readout = make_readout(1)
    readout.run()
    for _ in range(TIMES):
        collector = readout.controller.pods["collector-0"]
        assert collector.delete(0).code == 137
        readout.controller.pod("collector", 0)
        readout.wait_for_clears()
    for end in end_of_all(readout):
        expect_drained(end)
    recover(readout.all_files())
    events, sent = readout.read(), readout.tally["events"]
    np.testing.assert_array_equal(np.unique(events.event[events.state == 0]) & 0xFFFFFFFF, np.arange(sent))


def test_an_evicted_card_takes_nothing_with_it_that_it_had_sent(make_readout: MakeReadout) -> None:
    readout = make_readout(2)
    card, handlers, _ = readout.run()
    card.delete(0)
    wait_for(lambda: all("card-" in each.said and "is gone" in each.said for each in handlers), "they say it")
    for each in handlers:
        assert each.page("/readyz")[0] == 503
        assert each.page("/healthz")[0] == 200
    readout.card()
    for each in handlers:
        wait_for(lambda each=each: "the card is back" in each.said, each.said)  # type: ignore[misc]
        wait_for(lambda each=each: each.ready, "it is ready again")  # type: ignore[misc]
    readout.wait_for_clears(1)
    ends = end_of_all(readout)
    for end in ends:
        expect_drained(end)
    events = readout.read()
    assert events.epochs == [1, 2]
    last = np.unique(events.event[events.event >> 32 == 2]) & 0xFFFFFFFF
    np.testing.assert_array_equal(last, np.arange(readout.tally["events"]))
