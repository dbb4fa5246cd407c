"""The clock of a device: it never goes back, and cards that see a marker agree."""

from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg._base.errors import UsageError
from thalweg._devices.board import Board
from thalweg._devices.clock import DeviceClock
from thalweg._devices.description import description_of

ROW = {"timestamp": tw.uint64(unit="us"), "x": tw.uint16}


def described(*, tables: tuple[str, ...] = ("a", "b"), **more: Any) -> Any:
    return description_of("Card", {"tables": dict.fromkeys(tables, ROW), **more}, {})


def started(clock: DeviceClock, at_ns: int, event: str = "started", card: int | None = None, **more: bool) -> None:
    clock.started(at_ns - 2_000, at_ns + 2_000, card, event, **more)


def stamps(clock: DeviceClock, table: str, *values: int) -> list[int]:
    return list(map(int, clock.align(table, np.array(values, np.uint64))[0]))


def test_a_clock_that_begins_at_0_is_aligned_by_the_host() -> None:
    clock = DeviceClock(described(clock={"restarts": True}), Board.create(), {})
    started(clock, 1_000_000_000, event="")
    assert stamps(clock, "a", 10, 20) == [10, 20]
    started(clock, 1_003_000_000)
    values, told = clock.align("b", np.array([7], np.uint64))
    assert values.tolist() == [3007]
    assert told is not None
    assert (told["from"], told["until"], told["offset"], told["uncertainty"]) == (20, 3007, 3000, 4)
    assert stamps(clock, "a", 8) == [3008]
    assert clock.times_ns() == {"dead_time_ns": 2_987_000, "live_time_ns": 11_000}


def test_the_host_is_not_believed_where_time_would_go_back() -> None:
    clock = DeviceClock(described(clock={"restarts": True}), Board.create(), {})
    started(clock, 0, event="")
    assert stamps(clock, "a", 5_000) == [5_000]
    started(clock, 1_000_000)  # 1 ms later, by the host
    assert stamps(clock, "b", 0) == [5_001]
    assert stamps(clock, "a", 0) == [5_001]


def test_a_clock_that_goes_on_stays_as_it_is_until_it_was_set_back() -> None:
    clock = DeviceClock(described(), Board.create(), {})
    started(clock, 0, event="")
    assert stamps(clock, "a", 500, 900) == [500, 900]
    assert stamps(clock, "b", 400) == [400]
    started(clock, 10_000_000)
    assert stamps(clock, "b", 450) == [450]  # behind the last of this table
    assert stamps(clock, "a", 950) == [950]
    assert clock.backward == 0
    assert stamps(clock, "a", 100) == [100]  # without a restart: as the device gives it, and counted
    assert clock.backward == 1
    started(clock, 20_000_000)
    assert stamps(clock, "a", 3) == [20_003]


MARKED = {"timestamp": tw.int64(unit="ns"), "x": tw.uint16}


def marked(**clock: bool) -> Any:
    return description_of("Card", {"tables": {"a": MARKED}, "clock": {"marker": True, **clock}}, {})


def signed(clock: DeviceClock, *values: int) -> list[int]:
    return list(map(int, clock.align("a", np.array(values, np.int64))[0]))


def test_cards_that_see_a_marker_agree_to_one_sample() -> None:
    phases = (7_000_000_000_123, 55)  # what their clocks show when the common one shows 0
    cards = [DeviceClock(marked(), Board.create(), {}) for _ in phases]
    for number, (phase, card) in enumerate(zip(phases, cards, strict=True)):
        started(card, 1_000_000 * number, event="", card=phase + 500)  # the host starts them one after the other
        assert signed(card, *(phase + time for time in (400, 500, 900))) == [-100, 0, 400]
        assert (card.state()["offset"], card.state()["uncertainty"]) == (-phase - 500, 0)
        started(card, 70_000_000 + number)  # an overflow: their clocks go on
        assert signed(card, phase + 1_000_000) == [999_500]
        assert card.state()["uncertainty"] == 0


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_times_of_any_integer_are_aligned_without_a_wrap(kind: type) -> None:
    clock = DeviceClock(marked(), Board.create(), {})
    started(clock, 0, event="", card=1000)
    aligned = clock.align("a", np.array([400, 1000, 2_000_000_000], kind))[0]
    assert list(map(int, aligned)) == [-600, 0, 1_999_999_000]
    far = DeviceClock(marked(), Board.create(), {})
    started(far, 0, event="", card=-3_000_000_000)
    assert list(map(int, far.align("a", np.array([2_000_000_000], kind))[0])) == [5_000_000_000]


def test_a_later_process_counts_from_the_same_marker() -> None:
    first = DeviceClock(marked(), Board.create(), {})
    started(first, 0, event="", card=500)
    assert signed(first, 900) == [400]
    later = DeviceClock(marked(), Board.create(), first.state() | {"last": {"a": 400}})
    started(later, 1_000_000, event="reopened", card=1_000_000)
    assert signed(later, 1_000_700) == [1_000_200]
    # The card was without power: its clock is as far from the marker as the host says.
    later = DeviceClock(marked(), Board.create(), first.state() | {"last": {"a": 400}})
    started(later, 2_000_000, event="reopened", card=3)
    assert signed(later, 3) == [2_000_000]
    assert later.state()["uncertainty"] == 4_000


def test_a_clock_that_begins_again_is_aligned_by_the_host_behind_its_marker() -> None:
    clock = DeviceClock(marked(restarts=True), Board.create(), {})
    started(clock, 0, event="", card=500)
    assert signed(clock, 900) == [400]
    started(clock, 10_000, card=500)
    assert signed(clock, 600) == [10_100]
    assert clock.state()["uncertainty"] == 4_000


def test_a_marker_needs_a_signed_clock_and_its_time() -> None:
    with pytest.raises(UsageError, match=r"'timestamp' of Card counts from a marker .*: make it int64"):
        described(clock={"marker": True})
    with pytest.raises(UsageError, match="start returned None"):
        started(DeviceClock(marked(), Board.create(), {}), 0)


def test_a_pause_is_no_dead_time() -> None:
    clock = DeviceClock(described(), Board.create(), {})
    started(clock, 0, event="")
    assert stamps(clock, "a", 500, 900) == [500, 900]
    started(clock, 10_000_000, is_dead_before=False)
    assert stamps(clock, "a", 10_000, 10_300) == [10_000, 10_300]
    assert clock.times_ns() == {"dead_time_ns": 0, "live_time_ns": 700_000}


def test_a_later_process_goes_on_behind_the_earlier_one() -> None:
    before = {"origin_ns": 0, "uncertainty_ns": 1_000, "offset": 0, "last": {"a": 700}}
    clock = DeviceClock(described(clock={"restarts": True}), Board.create(), before)
    started(clock, 5_000_000, event="reopened", card=100)
    values, told = clock.align("a", np.array([101], np.uint64))
    assert values.tolist() == [5_001]
    assert told is not None
    assert (told["from"], told["until"], told["uncertainty"]) == (700, 5_001, 3)
    assert clock.times_ns()["dead_time_ns"] == 4_301_000
