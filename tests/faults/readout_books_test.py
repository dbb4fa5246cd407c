"""Invariant R4: whatever dies, each fragment that was built is in a file, or was counted.

`pytest --long` kills for an hour; THALWEG_CAMPAIGN_S says for how many seconds instead.
"""

import os
import random
import time

import numpy as np
import pytest
from readout_judge import Events, expect_right
from readout_programs import Make, Program, Readout, wait_for

FAULTS = "missing=1e-3,late=1e-4,lost_block=1e-4"
# The programs that die in one round, one after the other or together. A handler does not die together with the card: if
# both the numbers and the program that knew them are gone, a new run must be begun.
MENUS = (
    ("card", "card"),
    ("handler 0", "handler 1"),
    ("collector", "collector"),
    ("card", "collector", "card+collector"),
    ("handler 1", "handler 0+handler 1"),
    ("handler 0+collector", "card", "handler 1"),
)
# On a machine with ten times too much work a program needs half a minute to start, and three of them may have to start
# one after the other before events come again.
PATIENCE_S = 600
MOST_LOST_WITH_A_CARD = 2
COUNTS = ("absent", "cleared", "evicted", "lost", "gaps")


def test_a_run_that_no_client_collects_is_said_to_be_discarded(make: Make) -> None:
    readout = make()
    card = readout.card("--events", 2000, "--json")
    handler = readout.handler(0, "--drain", "100ms")
    wait_for(lambda: readout.metric("fragments_kept") == 2 * 2000, "all are built")
    card.end()
    handler.stop(1)
    (report,) = handler.answer
    assert report["balances"]
    assert report["lost"] == 2 * 2000
    assert [group["discarded"] for group in report["groups"]] == [2000, 2000]


def test_a_second_signal_ends_a_run_whose_index_is_full(make: Make) -> None:
    readout = make()
    readout.card(rate="20kHz")
    handler = readout.handler(0, "--drain", "100s")
    handler.wait_for("waiting for collectors")
    handler.terminate()
    handler.wait_for("stopping:")
    handler.stop(1)
    (report,) = handler.answer
    assert report["balances"]
    assert report["lost"] == sum(group["discarded"] for group in report["groups"]) > 0
    assert [group["kept"] for group in report["groups"]] == [0, 0]


class Round:
    """A readout of two handlers, some of whose programs are killed, and the count of its results."""

    def __init__(self, readout: Readout, menu: tuple[str, ...], draw: random.Random) -> None:
        self.readout, self.menu, self.draw = readout, menu, draw
        self.card = self.new_card()
        self.handlers = [self.new_handler(number) for number in range(2)]
        self.files: list[str] = []
        self.collectors: list[Program] = []
        self.new_collector()

    def new_card(self) -> Program:
        return self.readout.card("--faults", FAULTS, "--seed", self.draw.randrange(1 << 30), rate="4kHz")

    def new_handler(self, number: int) -> Program:
        return self.readout.handler(number, "--drain", f"{PATIENCE_S}s")

    def new_collector(self) -> None:
        self.files.append(f"{self.readout.card_name}-{len(self.files)}.root")
        self.collectors.append(self.readout.collector(self.files[-1]))

    def kill(self, what: str) -> None:
        names = what.split("+")
        for name in names:
            self.program(name).kill()
        time.sleep(self.draw.uniform(0, 0.3))
        for name in names:
            if name == "card":
                self.card = self.new_card()
            elif name == "collector":
                self.readout.recover(self.files[-1])
                self.new_collector()
            else:
                number = int(name.split()[1])
                self.handlers[number] = self.new_handler(number)

    def program(self, name: str) -> Program:
        if name.startswith("handler"):
            return self.handlers[int(name.split()[1])]
        return self.card if name == "card" else self.collectors[-1]

    def wait_for_events(self) -> None:
        """Waits until both handlers read the current card, and a collector has new events in its file."""
        for number in range(2):
            begin = self.readout.metric("packets_total", handler=number)
            enough = begin + 500
            wait_for(
                lambda n=number, e=enough: self.readout.metric("packets_total", handler=n) > e, "it builds", PATIENCE_S
            )
        self.readout.wait_for_clears(seconds=PATIENCE_S)

    def run(self) -> None:
        for what in self.menu:
            self.wait_for_events()
            time.sleep(self.draw.uniform(0, 1))
            self.kill(what)
        self.wait_for_events()
        for each in (self.card, *self.handlers):
            each.terminate()
        for each in (self.card, *self.handlers, self.collectors[-1]):
            each.end(seconds=2 * PATIENCE_S)

    def events(self) -> Events:
        return Events.together([expect_right(self.readout.folder / name, self.readout) for name in self.files])

    def missing(self, events: Events) -> int:
        """Returns the numbers of each epoch up to the last one that was seen."""
        unique = np.unique(events.event)
        return sum(int((of := unique[unique >> 32 == e] & 0xFFFFFFFF).max()) + 1 - len(of) for e in events.epochs)

    def judge(self) -> dict[str, int]:
        events = self.events()
        pairs = np.unique(np.stack([events.payload_event, events.payload_elink // self.readout.links]), axis=1)
        in_files = np.bincount(pairs[1].astype(np.int64), minlength=4)
        reports = [handler.answer[0] for handler in self.handlers]
        counters = self.collectors[-1].answer["counters"]
        lost, counted = self.missing(events), sum(counters[name] for name in COUNTS)
        for report in reports:
            assert report["balances"]
            assert report["lost"] == 0
        cleared = [group["cleared"] for report in reports for group in report["groups"]]
        names = "+".join(self.menu)
        if "handler" not in names:  # the accounts of the whole run are those of these handlers
            np.testing.assert_array_equal(in_files, cleared)
            # If the first packets of an event are missing, which is one of the faults, a card that dies may not have
            # sent the others, so no handler built it. Not more events than these are lost with a card.
            assert lost <= MOST_LOST_WITH_A_CARD * names.count("card"), counters
        else:
            assert (in_files >= cleared).all()
        if "collector" not in names:  # the same holds for the collector's
            assert lost == counted, counters
        else:  # a dead collector's counts are lost: what the next one counted is true, but not complete
            assert lost >= counted - counters["cleared"] - counters["absent"], counters
        return {"events": len(np.unique(events.event)), "lost": lost, "counted": counted}


def seconds_of(config: pytest.Config) -> float:
    return float(os.environ.get("THALWEG_CAMPAIGN_S", 3600 if config.getoption("--long") else 0))


@pytest.mark.timeout(0)  # it lasts as long as requested; each of its waits has a limit
def test_kills_in_turn_and_together(make: Make, pytestconfig: pytest.Config) -> None:
    end_s = time.monotonic() + seconds_of(pytestconfig)
    seed = int(os.environ.get("THALWEG_CAMPAIGN_SEED", 1))
    for number in range(1 << 20):
        menu = MENUS[number % len(MENUS)]
        readout = make(handlers=2, lease="1s")
        this = Round(readout, menu, random.Random(f"{seed} {number}"))
        this.run()
        counts = this.judge()
        print(f"round {number}, kills {', '.join(menu)}: {counts}", flush=True)
        readout.close()
        if number + 1 >= 2 and time.monotonic() >= end_s:
            break
