"""Handlers that are stopped in order while the card goes on, and come back or do not."""

import numpy as np
import pytest
from readout_programs import Make, stop_all
from readout_test import expect_all_events, expect_balance, read


@pytest.mark.parametrize("number", [0, 1])
def test_a_handler_that_is_restarted_loses_nothing(make: Make, number: int) -> None:
    """While another one drains, and until the next one is there, events wait. The first handler gives out events, so
    its end is the end of the run for a collector, and the next collector goes on."""
    readout = make(handlers=2)
    card, handlers, collector = readout.run("run.root")
    files = ["run.root"]
    for _ in range(2):
        handlers[number].stop()
        expect_balance(handlers[number])
        handlers[number] = readout.handler(number)
        if number == 0:
            collector.end()
            files.append(f"run{len(files)}.root")
            collector = readout.collector(files[-1])
        readout.wait_for_clears()
    stop_all(card, *handlers, collector)
    for each in handlers:
        expect_balance(each)
    expect_all_events(readout, *files)
    counters = collector.answer["counters"]
    assert counters["incomplete"] == counters["duplicates"] == counters["left_behind"] == 0
    assert all(each["without"] == each["in_part"] == 0 for each in collector.answer["missing_parts"])


def test_a_handler_that_does_not_come_back_is_named(make: Make) -> None:
    readout = make(handlers=2)
    card = readout.card("--tally", readout.folder / "tally.json")
    handlers = [readout.handler(number) for number in range(2)]
    collector = readout.collector("run.root", "--return-within", "500ms")
    readout.wait_for_clears()
    handlers[1].stop()
    readout.wait_for_clears()  # the card goes on until the buffer without a reader is full
    stop_all(card, handlers[0], collector)
    events = read(readout, "run.root")
    np.testing.assert_array_equal(np.sort(events.event) & 0xFFFFFFFF, np.arange(len(events.event)))
    first, second = collector.answer["missing_parts"]
    assert first["without"] == first["in_part"] == 0
    assert second["address"] == readout.address(1)
    assert second["without"] == collector.answer["counters"]["incomplete"] == np.count_nonzero(events.state) > 0
