"""What the report of a handler says: no count of something that is wrong may be missing."""

from types import SimpleNamespace
from typing import Any

import pytest

from thalweg import _core
from thalweg._readout.handler_report import HandlerReport

# What these count is no problem, or is told in a sentence of its own.
ORDINARY = {
    "StreamReport": {
        *("elink", "enabled", "live", "packets", "payload_bytes", "delivered", "left", "blocks", "timeouts"),
    },
    "GroupReport": {
        *("source_id", "complete", "incomplete", "newest_event", "open_events", "fill", "streams", "built"),
        *("cleared", "skipped", "kept", "discarded"),
    },
    "BuilderCounters": {"blocks", "busy_ns", "cpu_ns", "foreign_elink"},
}


def counts_of(kind: str) -> list[str]:
    found = [name for name in dir(getattr(_core, kind)) if not name.startswith("_")]
    return [name for name in found if name not in ("balances", "as_json")]


class Record(SimpleNamespace):
    """A report as C++ makes it, with chosen counts."""

    @classmethod
    def of(cls, kind: str, **given: Any) -> "Record":
        return cls(**(dict.fromkeys(counts_of(kind), 0) | {"balances": lambda: True, "as_json": dict} | given))


def report(**given: dict[str, int]) -> HandlerReport:
    stream = Record.of("StreamReport", **given.get("StreamReport", {}))
    group = Record.of("GroupReport", **{"streams": [stream]} | given.get("GroupReport", {}))
    builder = Record.of("BuilderCounters", **given.get("BuilderCounters", {}))
    counts: Any = Record.of("HandlerReport", groups=[group], builder=builder)
    return HandlerReport("dh0", 1.0, counts)


@pytest.mark.parametrize("kind", ORDINARY)
def test_every_count_of_something_wrong_is_a_problem(kind: str) -> None:
    assert report().problems() == []
    assert set(counts_of(kind)) >= ORDINARY[kind]
    for count in set(counts_of(kind)) - ORDINARY[kind]:
        made = report(**{kind: {count: 7}})
        assert made.problems() == [f"7 {count.replace('_', ' ')}"]
        assert made.as_json()["problems"] == made.problems()
        assert f"problems: 7 {count.replace('_', ' ')}" in made.sentences()


def test_payloads_that_are_in_no_fragment_change_the_exit_code() -> None:
    assert report().exit_code == 0
    assert report(GroupReport={"overflows": 1}).exit_code == 1
    assert report(GroupReport={"absent": 1}).exit_code == 0


def test_the_report_says_what_can_be_corrected() -> None:
    foreign = report(BuilderCounters={"foreign_blocks": 3, "foreign_elink": 41}).sentences()
    assert "blocks came of e-links that are in no group, such as 41" in foreign
    left_out = report(GroupReport={"overflows": 2, "source_id": 0x1001}).sentences()
    assert "2 payloads are in no fragment (they do not fit into fragment_bytes of group 0x1001): raise it" in left_out
    asks = "most packets are in no fragment: does `l1id_offset` in [trigger] lead to their event number?"
    assert asks in report(StreamReport={"packets": 10, "late": 6}).sentences()
    assert asks not in report(StreamReport={"packets": 10, "late": 5}).sentences()
