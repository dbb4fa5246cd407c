"""What the report of a recording says of dead time, lost triggers and clocks."""

import pytest

from thalweg._recording.counts import Channel
from thalweg._recording.report import RecordingReport

SECOND = 1_000_000_000


def sentences(**channels: dict[str, int]) -> str:
    """Returns what is said of channels with these counts."""
    made = {name: Channel(rows=10, counts=counts) for name, counts in channels.items()}
    return " ".join(report(made).sentences()[1:])


def report(channels: dict[str, Channel]) -> RecordingReport:
    return RecordingReport("duration", channels, [], 1.0, 0.0, "io_uring", "/dev/shm", [], [])


def test_dead_time_is_said_also_if_no_trigger_was_lost() -> None:
    dead = {"dead_time_ns": SECOND, "live_time_ns": 3 * SECOND}
    assert sentences(ch0=dead) == "Dead time 25.00%."
    assert sentences(ch0=dead, ch1={"live_time_ns": 4 * SECOND}) == "Dead time 12.50% (worst channel: ch0 with 25.00%)."
    assert sentences(ch0={"dead_time_ns": 1, "live_time_ns": SECOND}) == "Dead time below 0.01%."
    assert sentences(ch0={"live_time_ns": SECOND}) == ""


def test_a_device_that_only_counts_lost_triggers_is_not_said_to_have_a_full_memory() -> None:
    assert sentences(ch0={"lost_triggers": 34}) == "34 triggers are lost."
    assert sentences(ch0={"lost_triggers": 1, "triggers": 20}) == "1 of 20 triggers are lost."
    assert "34 triggers are lost, because the on-board memory was full." in sentences(
        ch0={"lost_triggers": 34, "overflows": 1}
    )


def test_the_cause_and_the_remedy_are_said_of_a_card_whose_memory_is_known() -> None:
    said = sentences(ch0={"lost_triggers": 2, "triggers": 4, "onboard_limit_bytes": 1})
    assert "2 of 4 triggers are lost, because the on-board memory was full" in said
    assert said.endswith("storage or compression is too slow for this rate.")


@pytest.mark.parametrize(
    ("counts", "is_known"), [({"lost_triggers": 3}, False), ({"lost_triggers": 3, "overflows": 1}, True)]
)
def test_a_run_without_a_record_gives_a_cause_only_if_it_is_known(counts: dict[str, int], is_known: bool) -> None:
    (problem,) = report({"ch0": Channel(counts=counts)}).problems
    assert "all 3 triggers were lost" in problem
    assert ("on-board memory" in problem, "storage" in problem) == (is_known, is_known)


def test_timestamps_that_went_back_are_said() -> None:
    assert sentences(ch0={"backward_batches": 2}).startswith("Timestamps went back 2 times without a restart")
    assert sentences(ch0={"backward_batches": 1}).startswith("Timestamps went back once")
