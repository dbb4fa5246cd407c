"""The conformance suite of sources finds what it is there for, and passes a source that keeps its promises."""

import time
from typing import Any

import numpy as np
import pytest
from device_stand_ins import Card, Silent

import thalweg as tw
from thalweg.testing.sources import SourceSuite


class Short(SourceSuite):
    seconds = 0.2
    slack = 0.3


class TestCard(Short):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.notes = str(tmp_path_factory.mktemp("notes"))

    def make(self) -> Card:
        return Card(self.notes, each=1_000_000)


class Slow(Silent):
    def next(self, timeout: float) -> Any:
        time.sleep(timeout + 0.4)


class Wrong(Card):
    """A card of which one thing is wrong."""

    def __init__(self, notes: str, what: str) -> None:
        super().__init__(notes, each=1_000_000)
        self.what = what
        self.described = 0

    def describe(self) -> dict[str, Any]:
        self.described += 1
        described = super().describe()
        if self.what == "tables" and self.described > 1:
            described["tables"]["ch1"] = {"x": tw.int8}
        return described

    def next(self, timeout: float) -> Any:
        rows = super().next(timeout)
        if self.what == "rows" and rows:
            del rows["ch0"]["number"]
        return {"ch0": {"timestamp": np.zeros(1, np.uint64)}} if self.what == "stop" else rows

    def counters(self) -> dict[str, int]:
        if self.what == "counters":
            return {"left": 1_000_000 - self.records}
        return super().counters()


@pytest.mark.parametrize(
    ("what", "test", "said"),
    [
        ("tables", SourceSuite.test_it_describes_what_it_records, "other tables the second time"),
        ("rows", SourceSuite.test_rows_fit_the_tables, "it cannot be recorded .UsageError: .*number"),
        ("stop", SourceSuite.test_after_stop_the_rows_come_to_an_end, "still returns rows long after stop"),
        ("counters", SourceSuite.test_counters_are_numbers_that_only_grow, "counter 'left' falls from"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Any, what: str, test: Any, said: str) -> None:
    suite = Short()
    suite.make = lambda: Wrong(str(tmp_path), what)  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match=said):
        test(suite)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (SourceSuite.test_next_returns_within_its_timeout, r"next\(0\) took 0\.4"),
        (SourceSuite.test_rows_fit_the_tables, "0 rows came within 0.2 s, and not 1"),
        (SourceSuite.test_it_starts_again_and_time_does_not_go_back, "not started a second time"),
    ],
)
def test_a_device_that_is_slow_or_gives_nothing_is_named(test: Any, said: str) -> None:
    suite = Short()
    suite.make = Slow  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match=said):
        test(suite)
