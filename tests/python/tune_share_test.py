"""The share of the time that a screen shows is that of one run, the one that `thalweg explain` shows, too."""

from types import SimpleNamespace
from typing import cast

import pytest

from thalweg._tune.bench import Bench
from thalweg._tune.screen import screen


@pytest.mark.parametrize(
    ("traced_s", "timed_s", "share"),
    [
        (10.0, 2.5, 0.3),  # the calls of the traced run took longer, as all of it did: not 3 s of 2.5 s
        (4.0, 12.0, 0.25),  # the command goes on for a time without calls
    ],
)
def test_calls_are_compared_with_the_time_of_their_own_run(traced_s: float, timed_s: float, share: float) -> None:
    first = SimpleNamespace(io_s=3.0, elapsed_s=traced_s, lacks=["none"])
    bench = SimpleNamespace(first=first, timed=lambda _: SimpleNamespace(seconds=timed_s))
    assert screen(cast(Bench, bench), lambda _: None, may_change_file=False).share_of_time == share
