"""Slow instruments beside cards: each value and each gap is a row, and no instrument ends a run."""

import json
import math
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording import record, recording, wait_for

import thalweg as tw
from thalweg._base.errors import UsageError
from thalweg._devices import slow
from thalweg._devices.description import check_settings, load_class
from thalweg._devices.slow import SlowDevice
from thalweg._recording.configuration import load_options
from thalweg._recording.options import RecordOptions
from thalweg._recording.specs import devices_of
from thalweg.sources import Reading

THERMOMETER, DIAL = "slow_stand_ins:Thermometer", "slow_stand_ins:Dial"


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def table(source: str, **keys: Any) -> tuple[str, str]:
    return "--device", json.dumps({"source": source, "kind": "slow", **keys})


def changes_of(values: np.ndarray) -> list[float | None]:
    """The values, each once while it stays the same; None for a gap."""
    plain = [None if math.isnan(value) else value for value in values.tolist()]
    return [each for place, each in enumerate(plain) if place == 0 or each != plain[place - 1]]


def test_every_gap_is_a_row_and_none_ends_the_run(tmp_path: Path) -> None:
    steps = "1,2,raise,away,away,3,exit,4,hang,5,none,6,word,7,7"
    cryostat = table(THERMOMETER, name="cryo", every="20ms", deadline="1s", notes=str(tmp_path), script=steps)
    with recording(tmp_path / "run.h5", *cryostat) as recorder:
        wait_for(lambda: int((tmp_path / "step").read_text()) > len(steps.split(",")) + 5)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=0)
    assert report["problems"] == []
    run = tw.open(tmp_path / "run.h5")
    assert list(run) == ["cryo_stage", "cryo_shield", "device_events"]
    assert run.schema["cryo_stage"]["value"].unit == "K"
    stage, shield = run["cryo_stage"].read(), run["cryo_shield"].read()
    assert changes_of(stage["value"]) == [1, 2, None, 3, None, 4, None, 5, None, 6, None, 7]
    assert changes_of(shield["value"]) == [40, None, 40, None, 40, None, 40, None, 40]
    assert set(stage["severity"][stage["value"] == 6]) == {0}
    assert set(stage["severity"][stage["value"] == 7]) == {1}
    assert stage["severity"][np.isnan(stage["value"])].tolist() == [3] * 5  # one row for each gap
    for rows in (stage, shield):
        assert np.all(np.diff(rows["monotonic"].astype(np.int64)) >= 0)
        assert np.all(np.abs(np.diff(rows["utc"] - rows["monotonic"].astype(np.int64))) < 1_000_000_000)
    # Each gap is counted by its table; the counts of a process that dies may lack its last one.
    assert [report["channels"][name]["gaps"] for name in ("cryo_stage", "cryo_shield")] == [5, 4]

    events = run["device_events"].read(["event", "text"])
    lost = [text for event, text in zip(events["event"], events["text"], strict=True) if event == "lost"]
    assert lost == [
        "OSError: the cable is out, at slow_stand_ins.py:40",
        "it ended with code 3 and no report",
        "it did not return from next within 1.1 s",
        "ValueError: could not convert string to float: '4.2 K'",
    ]
    assert [each for each in events["event"] if each != "started"] == ["opened", *["lost", "reopened"] * 4, "stopped"]


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_values_are_seen_while_the_run_goes_on(tmp_path: Path, name: str) -> None:
    path, dial = tmp_path / name, tmp_path / "dial"
    dial.write_text("1")

    def turned(value: float) -> None:
        (tmp_path / "new").write_text(str(value))
        (tmp_path / "new").replace(dial)

    with recording(path, *table(DIAL, every="change", path=str(dial)), "--flush-interval", "50ms") as recorder:
        followed = follow(path)
        for value in (2.0, 3.0):
            turned(value)
            assert next(followed) == value - 1
            wait_for(lambda: copied(path, tmp_path / f"copy-{name}")[-1:] == [value])  # noqa: B023
        assert next(followed) == 3.0
        recorder.signal(signal.SIGUSR1)  # a pause of the run is none of the instrument
        wait_for(lambda: "paused" in recorder.process.stderr.readline())
        turned(4.0)
        assert next(followed) == 4.0
        recorder.signal(signal.SIGINT)
        recorder.report(code=0)
    assert tw.open(path)["angle"].read(["value"])["value"].tolist() == [1, 2, 3, 4]


def follow(path: Path) -> Iterator[float]:
    for new in tw.open(path).follow():
        if new.table == "angle":
            yield from new.rows["value"].tolist()


def copied(path: Path, to: Path) -> list[float]:
    tw.snapshot(path, to, force=True)
    return tw.open(to)["angle"].read(["value"])["value"].tolist()


def test_the_run_ends_with_its_cards(tmp_path: Path) -> None:
    card = {"source": "digitizer", "name": "card", "channels": 1, "samples": 64, "rate": "2kHz", "records": 500}
    devices = ("--device", json.dumps(card), *table(THERMOMETER, name="cryo", every="10ms", notes=str(tmp_path)))
    report = record(tmp_path / "run.h5", *devices)
    assert report["ended_by"] == "source"
    run = tw.open(tmp_path / "run.h5")
    assert len(run["card_ch0"]) == 500
    assert len(run["cryo_stage"]) > 5
    assert set(run["cryo_stage"].read(["value"])["value"]) == {4.2}


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"kind": "fast"}, "'kind' of device 'cryo' is 'fast': write \"slow\", or leave it out"),
        ({"every": "2s", "kind": None}, "'every' of device 'cryo' is only for slow instruments: add kind = \"slow\""),
        ({"every": "0s"}, "'every' of device 'cryo' is '0s': give a time, as 1s, or \"change\""),
        ({"every": "often"}, "often"),
        ({"on-loss": "end"}, "'on-loss' of device 'cryo' means nothing (a slow instrument ends no run): leave it out"),
        ({"source": "digitizer"}, "cryo is no slow instrument (it is built in): leave out kind"),
    ],
)
def test_keys_that_mean_nothing_are_refused(keys: dict[str, Any], what: str) -> None:
    given = {"source": THERMOMETER, "name": "cryo", "kind": "slow", "notes": "x"} | keys
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(UsageError) as raised:
        devices_of(RecordOptions(device=[json.dumps(given)]))
    assert what in str(raised.value)


def test_a_class_of_the_other_kind_is_refused() -> None:
    with pytest.raises(UsageError, match='is a slow instrument: give it in a table of --device, with kind = "slow"'):
        load_class(THERMOMETER)
    with pytest.raises(UsageError, match="is no slow instrument: leave out kind"):
        load_class("device_stand_ins:Card", is_slow=True)
    with pytest.raises(UsageError, match=r"has no units, no read: `thalweg.sources.SlowInstrument` lists"):
        load_class("pathlib:Path", is_slow=True)


def test_an_instrument_that_is_not_there_begins_no_run(tmp_path: Path, thalweg_command: Any) -> None:
    away = table(THERMOMETER, notes=str(tmp_path), script="away,1")
    done = thalweg_command("record", "--out", tmp_path / "run.h5", *away)
    assert done.returncode == 1
    assert f"{THERMOMETER} cannot be opened (it is switched off)" in done.stderr
    assert not (tmp_path / "run.h5").exists()


def test_what_the_page_shows_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "slow.md").read_text()
    (config,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "run.toml").write_text(config)
    devices = devices_of(RecordOptions(**load_options(tmp_path / "run.toml")))
    assert [device.every_s for device in devices if device.is_slow] == [1.0, 5.0, None]
    for device in devices:
        if device.is_slow:
            check_settings(device.source, load_class(device.source, is_slow=True), device.settings)
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "stage.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    stage = SlowDevice(lambda: load_class("stage:Stage", is_slow=True)("COM3"), 1.0, lambda _: None)
    stage.open()
    assert stage.next(0)["load"]["severity"] == [3]


class Clock:
    """Time that goes on only by what is slept."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Scripted:
    """`answers`: what the next call returns, or raises."""

    def __init__(self, says_changes: bool, clock: Clock) -> None:
        self.answers: list[Any] = []
        self.clock = clock
        self.closed = 0
        if says_changes:
            self.changes = self._changes

    def units(self) -> dict[str, str]:
        return {"a": "V", "b": ""}

    def _next(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def read(self) -> Any:
        return self._next()

    def _changes(self, timeout: float) -> Any:
        self.clock.sleep(timeout)
        return self._next() if self.answers else []

    def close(self) -> None:
        self.closed += 1


class Stage:
    """A device over a scripted instrument, at a time of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, every_s: float | None, *, says_changes: bool) -> None:
        self.clock, self.told = Clock(), list[dict[str, Any]]()
        monkeypatch.setattr(slow, "time", self.clock)
        self.made: list[Scripted] = []
        self.device = SlowDevice(lambda: self._make(says_changes), every_s, self.told.append)
        self.device.open()

    def _make(self, says_changes: bool) -> Scripted:
        self.made.append(Scripted(says_changes, self.clock))
        return self.made[-1]

    def rows(self, seconds: float, *answers: Any) -> list[tuple[str, float | None]]:
        """The rows of so many seconds: channel and value, None for a gap."""
        self.made[-1].answers += answers
        end_s, found = self.clock.now_s + seconds, list[tuple[str, float | None]]()
        while self.clock.now_s < end_s - 1e-6:
            for channel, columns in (self.device.next(0.125) or {}).items():
                values = zip(columns["value"], columns["severity"], strict=True)
                found += [(channel, None if severity == 3 else value) for value, severity in values]
            if not self.made[-1].answers and self.device._every_s is not None and not hasattr(self.made[-1], "changes"):
                self.clock.sleep(0.001)
        return found


def test_what_is_read_has_a_row_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, 1.0, says_changes=False)
    answers = [{"a": 1, "b": 5}, {"a": 1, "b": None}, {"a": 1}, {"a": 2, "b": Reading(6, 2)}]
    assert stage.rows(3.5, *answers) == [("a", 1), ("b", 5), ("b", None), ("a", 1), ("a", 1), ("b", 6), ("a", 2)]


def test_what_is_read_has_a_row_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, None, says_changes=False)
    answers = [{"a": 1, "b": 5}, {"a": 1, "b": None}, {"a": 1}, {"a": 2, "b": 6}]
    assert stage.rows(3.5, *answers) == [("a", 1), ("b", 5), ("b", None), ("a", 2), ("b", 6)]


def test_what_says_changes_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, None, says_changes=True)
    both = [("a", 1), ("a", 2), ("a", 2), ("a", None), ("a", None), ("a", 3)]
    assert stage.rows(0.5, both) == [("a", 1), ("a", 2), ("a", None), ("a", 3)]
    assert stage.rows(2.0) == [("b", None)]  # it has said nothing for a second, and that is said once
    assert stage.rows(2.0, [("b", 1)]) == [("b", 1)]


def test_what_says_changes_can_have_a_row_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, 1.0, says_changes=True)
    rows = stage.rows(0.5, [("a", 1), ("b", 1), ("b", 2)])
    assert rows == [("a", 1), ("b", 1)]
    assert stage.rows(2.0) == [("a", 1), ("b", 2), ("a", 1), ("b", 2)]
    assert stage.rows(1.0, [("a", None)]) == [("a", None), ("b", 2)]


def test_an_instrument_that_fails_is_closed_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, 1.0, says_changes=False)
    assert stage.rows(0.5, {"a": 1, "b": 1}) == [("a", 1), ("b", 1)]
    assert stage.rows(1.0, OSError("gone")) == [("a", None), ("b", None)]
    assert (stage.made[0].closed, len(stage.made)) == (1, 1)
    monkeypatch.setattr(Scripted, "units", lambda _: {"a": "mV", "b": ""})
    assert stage.rows(20.0) == []  # what has other units is not taken for the same
    assert 3 <= len(stage.made) <= 6  # it is not tried again and again
    assert all(each.closed == 1 for each in stage.made)
    monkeypatch.setattr(Scripted, "units", lambda _: {"a": "V", "b": ""})
    monkeypatch.setattr(Scripted, "read", lambda _: {"a": 3, "b": 4})
    assert stage.rows(11.0)[:2] == [("a", 3), ("b", 4)]
    assert [each["event"] for each in stage.told if each["event"] != "absent"] == ["lost", "reopened"]
    assert stage.told[0]["text"].startswith("OSError: gone, at slow_test.py:")
    assert "it has other channels or units now" in stage.told[1]["text"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"a": 1, "bb": 1}, "it gave a value of 'bb' (did you mean 'b'?)"),
        ({"a": 1, "b": "ten"}, "could not convert string to float: 'ten'"),
        ({"a": 1, "b": Reading(1, 9)}, "severity 9 of 'b' is not 0 to 3"),
        (7, "object has no attribute 'items'"),
    ],
)
def test_what_is_no_value_of_a_channel_is_a_gap(monkeypatch: pytest.MonkeyPatch, answer: Any, why: str) -> None:
    stage = Stage(monkeypatch, 1.0, says_changes=False)
    assert stage.rows(0.5, answer) == [("a", None), ("b", None)]
    (told,) = stage.told
    assert why in told["text"]
