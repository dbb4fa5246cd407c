"""A short round of the campaign of devices (`make devices` plays more), and faults that its judge must see."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices_campaign import EACH, Round, play


def test_a_round_of_the_campaign() -> None:
    done = play(0, seed=3, faults_of_each=2)
    assert done["rounds"] == 1
    assert done["faults"] >= 8
    assert done["faults of the thermometer"] >= 1  # how many depends on how long the cards take


def event(kind: str, text: str = "", until: int | None = None) -> dict[str, Any]:
    return {"device": "a", "event": kind, "text": text, "monotonic": 0, "from": 0, "until": until}


@pytest.mark.parametrize(
    ("lost_row", "events", "what"),
    [
        (None, [event("lost", "x"), event("reopened", until=EACH)], ""),
        (EACH, [event("lost", "SIGKILL"), event("lost", "x"), event("reopened", until=EACH + 1)], ""),
        (EACH, [event("lost", "x"), event("reopened", until=EACH + 1)], "1 gaps for 0 kills"),
        (EACH - 5, [event("lost", "SIGKILL"), event("reopened", until=EACH + 1)], "a gap is not explained"),
        (2 * EACH - 1, [event("lost", "x"), event("reopened", until=EACH)], "1 gaps for 0 kills"),
    ],
)
def test_the_judge_sees_a_row_that_is_missing(
    tmp_path: Path, lost_row: int | None, events: list[dict[str, Any]], what: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "handed").write_text(str(2 * EACH))
    numbers = np.array([number for number in range(2 * EACH) if number != lost_row])
    of_round = Round(tmp_path, random.Random(1), 1)
    judged = ("a", ["lost"], {"timestamp": numbers.astype(np.uint64), "number": numbers.astype(np.uint32)}, events)
    if not what:
        return of_round._judge_card(*judged)
    with pytest.raises(AssertionError, match=what):
        of_round._judge_card(*judged)
    return None
