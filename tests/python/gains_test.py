"""The time that calls take from a program is told without what other programs and the tracing add to it."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rule_programs import START
from tracing import trace

from thalweg._explain.gains import own_time, short_pauses
from thalweg._explain.verdict import explain
from thalweg._trace.calls import Calls, Columns, Tables, Texts


def calls_at(start: Any, duration: Any, thread: int = 0) -> Calls:
    start = np.asarray(start, float)
    none = np.zeros(len(start), np.int64)
    columns = Columns(
        start=start,
        duration=np.broadcast_to(duration, start.shape).astype(float),
        thread=none + thread,
        **dict.fromkeys(("depth", "operation", "file", "offset", "size", "result", "error", "extra"), none),
    )
    return Calls(columns, Tables(Texts(["write"]), Texts(["write"]), np.zeros(2, np.int64), none[:1] - 1))


def traced_as(
    ran: float = 0.0, waited: float = 0.0, span: float = 0.0, clock: float = 0.0, *, is_known: bool = True
) -> Any:
    schedule = [{"pid": 7, "ran_s": ran, "waited_s": waited}] if is_known else []
    return SimpleNamespace(
        report={"schedule": schedule, "clock_s": clock},
        processes=[{"pid": 7}],
        threads=[{"tid": 7}, {"tid": 8}],
        span=lambda _: (0.0, span),
    )


TWO_SECONDS = calls_at([0.0, 2.0], 1.0)


def test_time_without_a_core_does_not_count() -> None:
    own = own_time(traced_as(ran=1.0, waited=3.0, span=4.0), TWO_SECONDS)
    assert (own.seconds, own.share) == (pytest.approx(0.5), 0.25)


def test_time_in_which_calls_wait_for_the_disk_counts() -> None:
    assert own_time(traced_as(ran=1.0, waited=0.0, span=4.0), TWO_SECONDS).seconds == pytest.approx(2.0)
    assert own_time(traced_as(ran=1.0, waited=1.0, span=3.0), TWO_SECONDS).seconds == pytest.approx(1.5)


def test_what_is_not_known_is_not_taken_off() -> None:
    assert own_time(traced_as(is_known=False), TWO_SECONDS).seconds == pytest.approx(2.0)
    other_thread = calls_at([0.0, 2.0], 1.0, thread=1)
    assert own_time(traced_as(ran=1.0, waited=3.0, span=4.0), other_thread).seconds == pytest.approx(2.0)


def test_looks_at_the_clock_do_not_count() -> None:
    trace, short = traced_as(is_known=False, clock=20e-9), calls_at(np.arange(100) * 1e-6, 60e-9)
    assert own_time(trace, short).seconds == pytest.approx(100 * 40e-9)
    assert 0 < own_time(trace, calls_at(np.arange(100) * 1e-6, 15e-9)).seconds < 100 * 5e-9


def test_a_few_long_calls_among_many_short_ones_are_interruptions() -> None:
    durations = np.full(10_000, 1e-6)
    durations[5000] = 0.5
    own = own_time(traced_as(is_known=False), calls_at(np.arange(10_000.0), durations))
    assert own.seconds == pytest.approx(0.01)
    durations[::100] = 0.5
    own = own_time(traced_as(is_known=False), calls_at(np.arange(10_000.0), durations))
    assert own.seconds == pytest.approx(50, rel=0.01)


def test_pauses_are_short_or_interrupted() -> None:
    assert short_pauses(calls_at(np.arange(11) * 1e-4, 5e-5)) == pytest.approx(10 * 5e-5)
    assert short_pauses(calls_at(np.arange(11) * 1e-2, 5e-3)) == 0
    starts = np.r_[np.arange(6) * 1e-4, 0.05 + np.arange(5) * 1e-4]
    assert short_pauses(calls_at(starts, 5e-5)) == pytest.approx(0.05 + 4e-4 - 10 * 5e-5)


def test_a_process_that_shares_its_core_says_so(tmp_path: Path) -> None:
    core = str(min(os.sched_getaffinity(0)))
    other = subprocess.Popen(["taskset", "-c", core, sys.executable, "-c", "while True: pass"])
    try:
        program = START + "for i in range(200_000): os.pwrite(fd, bytes(64), i * 64)"
        command = ("taskset", "-c", core, sys.executable, "-c", program, tmp_path / "out")
        traced = trace(tmp_path / "t.root", *command)
    finally:
        other.kill()
        other.wait()
    verdict = explain(str(traced.path))
    (schedule,) = [each for each in verdict.trace.report["schedule"] if each["waited_s"] > 0.5 * each["ran_s"]]
    assert f"process {schedule['pid']} waited {schedule['waited_s']:.3g} s for a core" in "\n".join(verdict.lines())
    (found,) = [each for each in verdict.findings if each.rule == "small requests"]
    assert found.low_s <= found.saves_s <= found.high_s
    assert found.saves_s < 0.8 * found.seconds
    assert f" s ({found.low_s:.2g} to {found.high_s:.2g} s: the time of the calls that are not needed)" in "\n".join(
        verdict.lines()
    )
