"""Slow streams on the page of a run."""

from pathlib import Path

import numpy as np
from browsing import tab
from watching import viewer, watched

import thalweg as tw
from thalweg._watching.streams import Stream, streams_of

SECOND = 1_000_000_000
SLOW = {
    "utc": tw.int64(unit="ns"),
    "monotonic": tw.int64(unit="ns"),
    "value": tw.float64(unit="K"),
    "severity": tw.uint8,
}
BEGIN = 1_700_000_000 * SECOND


def append(producer: tw.Producer, seconds: np.ndarray, values: np.ndarray) -> None:
    times = BEGIN + seconds * SECOND
    severity = np.where(np.isnan(values), 3, 0).astype(np.uint8)
    producer.append(utc=times, monotonic=times, value=values, severity=severity)


def test_pieces_of_time_have_the_least_and_the_largest_value() -> None:
    rng = np.random.default_rng(4)
    seconds = np.sort(rng.integers(0, 100_000, 20_000))
    values = rng.normal(4, 1, 20_000)
    stream = Stream("cryo", "value", "K")
    for part in np.array_split(np.arange(20_000), 37):
        stream.add(BEGIN + seconds[part] * SECOND, values[part])
    found = stream.as_json()
    times = np.array(found["times"])
    step = np.diff(times).min()
    assert 200 <= len(times) <= 400
    cells = (BEGIN // SECOND + seconds) // step
    assert len(times) == len(np.unique(cells))
    for at, low, high in zip(times, found["low"], found["high"], strict=True):
        inside = values[cells == at // step]
        np.testing.assert_allclose([low, high], [inside.min(), inside.max()], rtol=1e-5)
    np.testing.assert_allclose(found["newest"], values[-1], rtol=1e-5)


def test_a_gap_is_no_value_and_is_counted() -> None:
    stream = Stream("cryo", "value", "K")
    seconds = np.array([0, 1, 1, 2, 3])
    stream.add(BEGIN + seconds * SECOND, np.array([1.0, np.nan, 2.0, np.nan, 3.0]))
    found = stream.as_json()
    assert found["low"] == found["high"] == [1, 2, None, 3]
    assert found["gaps"] == 2
    assert stream.news() is not None
    assert stream.news() is None
    stream.add(BEGIN + np.array([9]) * SECOND, np.array([np.nan]))
    assert stream.as_json()["newest"] is None


def test_only_tables_of_numbers_with_a_time_of_the_day_are_streams(tmp_path: Path) -> None:
    schema = {
        "slow": SLOW,
        "several": {"utc": tw.int64(unit="ns"), "a": tw.float32, "b": tw.int16},
        "no_unit": {"utc": tw.int64, "a": tw.float32},
        "no_time": {"a": tw.float32},
        "texts": {"utc": tw.int64(unit="ns"), "what": tw.string},
        "arrays": {"utc": tw.int64(unit="ns"), "a": tw.array(tw.float32, 3)},
    }
    with tw.create(tmp_path / "run.h5", schema):
        pass
    run = tw.open(tmp_path / "run.h5")
    names = {name: [each.name for each in streams_of(run[name])] for name in run}
    assert {name: found for name, found in names.items() if found} == {
        "slow": ["slow"],
        "several": ["several/a", "several/b"],
    }


def test_the_page_draws_streams_of_a_run_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, {"cryo": SLOW, "hall": SLOW}, tuning={"flush_interval": 0.05}) as out:
        cryo, hall = out.producer("cryo"), out.producer("hall")
        append(cryo, np.arange(10), np.linspace(4, 5, 10))
        append(hall, np.arange(3), np.array([20.0, np.nan, 21.0]))
        with watched(path) as server, viewer(server) as page:
            page.until(lambda: set(page.streams) == {"cryo", "hall"} and len(page.streams["cryo"]["times"]) == 10)
            assert page.streams["hall"]["low"] == [20, None, 21]
            assert page.streams["cryo"]["unit"] == "K"
            append(cryo, np.array([10]), np.array([5.5]))
            page.until(lambda: page.streams["cryo"]["newest"] == 5.5)
            assert page.rows == {"cryo": 11, "hall": 3}
            with tab(tmp_path / "profile") as browser:
                browser.open(server.url, 360, 1500, "dark")
                browser.until("document.querySelectorAll('#streams canvas').length == 2")
                shown = browser.value("document.getElementById('streams').textContent")
                assert "5.5 K" in shown
                assert "gaps: 1" in shown
                assert browser.value("document.documentElement.scrollWidth") <= 360
                assert browser.complaints == []
