"""The parts of `thalweg watch` that need no server: messages, histograms, peaks."""

import errno
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from thalweg._hits.histogram import BINS, EnergyHistogram
from thalweg._hits.peaks import peak_in
from thalweg._watching.alarms import Alarm, AlarmLog
from thalweg._watching.detectors import Rate
from thalweg._watching.idle import use_idle_time
from thalweg._watching.shown import Shown
from thalweg._watching.streams import Stream


def test_changes_lead_to_the_newest_state_from_any_version() -> None:
    rng = np.random.default_rng(2)
    shown = Shown()
    lengths = [100, 3, 57]
    counts = [np.zeros(length, np.uint64) for length in lengths]
    seen: list[tuple[int, int, np.ndarray]] = [(0, 0, np.zeros(160))]
    for turn in range(60):
        for each in counts:
            each[rng.integers(0, len(each), 2)] += np.uint64(rng.integers(1, 5))
        if turn == 30:
            counts[0][5] = 2**40
        blocks = [({"width": 1.0 if turn < 45 else 2.0}, each) for each in counts]
        shown.update(blocks, {"turn": turn, "fixed": "x"})
        version, epoch, values = seen[rng.integers(0, len(seen))]
        message, version, epoch = shown.message(version, epoch)
        length = int.from_bytes(message[:4], "little")
        assert (4 + length) % 8 == 0
        head = json.loads(message[4 : 4 + length])
        numbers, values = message[4 + length :], values.copy()
        if head["whole"]:
            values[:] = np.frombuffer(numbers, "<" + head["kind"])
        else:
            places = np.frombuffer(numbers, "<u4", head["count"])
            at = len(numbers) - head["count"] * int(head["kind"][1])
            assert at % int(head["kind"][1]) == 0
            values[places] = np.frombuffer(numbers, "<" + head["kind"], head["count"], at)
        np.testing.assert_array_equal(values, np.concatenate(counts))
        assert head["turn"] == turn
        seen.append((version, epoch, values))


def test_the_width_of_bins_does_not_depend_on_the_order() -> None:
    values = np.random.default_rng(4).exponential(20_000, 5000)
    values[:3] = (np.nan, -1, np.inf)
    one, other = EnergyHistogram(), EnergyHistogram()
    one.add(values)
    for part in np.array_split(values[::-1], 50):
        other.add(part)
    assert one.width == other.width == 2 ** np.ceil(np.log2(values[3:].max() / BINS))
    np.testing.assert_array_equal(one.counts, other.counts)
    assert (one.counts.sum(), one.outside, other.outside) == (4997, 3, 3)


def test_peaks_are_found_where_they_are() -> None:
    rng = np.random.default_rng(5)
    flat = rng.uniform(0, 600, 8000)
    for shift, is_there, drifts in ((0, True, False), (4, True, True), (None, False, False)):
        energies = EnergyHistogram(650)
        energies.add(flat if shift is None else np.concatenate([flat, rng.normal(133 + shift, 4, 3000)]))
        peak = peak_in(energies, (123, 143))
        assert peak is not None
        assert (peak.is_there, peak.has_drifted) == (is_there, drifts)
        if shift is not None:
            # What lies beyond the window is not seen, which draws the centre to the middle.
            assert 0.8 * shift - 0.5 < peak.centre - 133 < shift + 0.5
            assert 2000 < peak.counts < 3300
    assert peak_in(EnergyHistogram(650), (123, 143)) is None


def test_a_peak_that_becomes_broader_is_told_from_chance() -> None:
    rng = np.random.default_rng(6)

    def hits(sigma: float) -> np.ndarray:
        return rng.permutation(np.concatenate([rng.uniform(0, 600, 14_000), rng.normal(133, sigma, 6000)]))

    for factor, is_worse in ((1.0, False), (1.2, False), (0.8, False), (1.8, True), (2.0, True)):
        energies = EnergyHistogram(650)
        energies.add(hits(4.2))
        for _ in range(3):
            energies.add(hits(4.2 * factor))
        first, peak = (peak_in(energies, (123, 143), of_first=each) for each in (True, False))
        assert first is not None
        assert peak is not None
        assert first.width == pytest.approx(2.355 * 4.2, rel=0.07)
        assert factor > 1.2 or peak.width == pytest.approx(2.355 * 4.2 * factor, rel=0.1)
        assert peak.is_broader_than(first) == is_worse
        assert not first.is_broader_than(peak) or factor < 0.8
    few = EnergyHistogram(650)
    few.add(np.concatenate([hits(4.2)[:1000], hits(8.4)[:1000]]))
    first, peak = (peak_in(few, (123, 143), of_first=each) for each in (True, False))
    assert first is None or peak is None or not peak.is_broader_than(first)


def test_that_idle_time_is_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert use_idle_time() == "Operation not permitted"


def test_it_uses_only_idle_time() -> None:
    code = "import os; from thalweg._watching.idle import use_idle_time as use; use(); print(os.sched_getscheduler(0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{os.SCHED_IDLE}\n"


def test_a_page_that_is_open_for_a_day_keeps_as_much_as_after_an_hour() -> None:
    """Rates, alarms that come and go, and slow streams: a look in ten seconds."""
    rate, log, stream = Rate(), AlarmLog(), Stream("temperature", "value", "K")

    def looks(begin: int, end: int) -> None:
        for second in range(begin, end, 10):
            rate.note(float(second), 30_000 * second)
            log.note([Alarm("silent", "a", f"a has had no hit for {second} s")] if second % 60 < 10 else [])
            stream.add(np.array([second * 10**9]), np.array([4.2 + second % 100 // 10]))
            if second % 300 == 0:
                json.dumps([stream.as_json(), log.as_json(), list(log.lines)])

    tracemalloc.start()
    try:
        looks(0, 3600)
        of_hour = tracemalloc.get_traced_memory()[0]
        looks(3600, 86_400)
        of_day = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert of_day < of_hour + 100_000, (of_hour, of_day)
    assert rate.per_second == pytest.approx(30_000)
    assert len(log.lines) == 100
    assert (min(stream.as_json()["low"]), max(stream.as_json()["high"])) == (4.2, 13.2)
