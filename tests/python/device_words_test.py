"""What is said of a class that records: of its mistakes, of its settings, and of what it prints."""

import json
import subprocess
from pathlib import Path

import pytest
from recording import THALWEG

CARD = """
import time
import thalweg as tw


class Card:
    def __init__(self, gain=1):
        print("gain", gain)

    def describe(self):
        return {"tables": {"ch0": {"stamp": tw.uint64(unit="ns")}}, "clock": {"column": CLOCK}}

    def start(self):
        self.is_running = True

    def next(self, timeout):
        time.sleep(timeout)
        return {"ch0": {"stamp": [1]}} if self.is_running else None

    def stop(self):
        self.is_running = False
        print("stopped", end="")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*words: str, code: int) -> str:
    done = subprocess.run([THALWEG, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


def card(folder: Path, clock: str = "stamp") -> None:
    (folder / "card.py").write_text(CARD.replace("CLOCK", json.dumps(clock)))


def test_a_clock_that_no_table_has_is_named_with_the_column_that_was_meant(folder: Path) -> None:
    card(folder, clock="stamps")
    problem = said("devices", "--source", "card:Card", code=2)
    assert "the clock of card:Card is column 'stamps', which no table has (did you mean 'stamp'?)" in problem


def test_a_key_of_the_recorder_that_is_spelled_as_a_setting_is_named(folder: Path) -> None:
    card(folder)
    problem = said("devices", "--device", '{source = "card:Card", on_loss = "end"}', code=2)
    assert "card:Card has no setting 'on_loss' (the key of a device for the recorder is 'on-loss'): write it" in problem


def test_a_syntax_error_is_said_with_the_place_in_the_file_alone(folder: Path) -> None:
    (folder / "card.py").write_text("import os\n\n\nclass Card(:\n    pass\n")
    problem = said("record", "--source", "card:Card", code=1)
    assert "SyntaxError" in problem
    assert "card.py, line 4" in problem
    assert "frozen" not in problem


def test_an_error_in_a_module_that_is_imported_is_said_with_its_line(folder: Path) -> None:
    (folder / "card.py").write_text("import another\n")
    (folder / "another.py").write_text("\n\n1 / 0\n")
    assert "division by zero, at another.py:3" in said("record", "--source", "card:Card", code=1)


def test_what_a_class_prints_is_shown_where_it_is_tried_and_not_where_it_records(folder: Path) -> None:
    card(folder)
    tried = said("devices", "--source", "card:Card", "--setting", "gain=3", "--duration", "200ms", code=0)
    assert "thalweg: card:Card printed: gain 3\n" in tried
    assert "thalweg: card:Card printed: stopped\n" in tried
    assert "gain" not in said("record", "--source", "card:Card", "--duration", "200ms", "--quiet", code=0)
