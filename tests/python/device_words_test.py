"""What is said of a class that records: of its mistakes, of its settings, and of what it prints."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recording import THALWEG, wait_for

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


def wrong(folder: Path, line: str) -> int:
    """Writes a class whose `next` has this line. Returns the number of the line."""
    lines = CARD.replace("CLOCK", json.dumps("stamp")).splitlines()
    place = lines.index("    def next(self, timeout):") + 1
    lines.insert(place, f"        {line}")
    (folder / "card.py").write_text("\n".join(lines) + "\n")
    return place + 1


def test_a_class_that_fails_without_a_row_in_the_same_way_ends_the_run(folder: Path) -> None:
    line = wrong(folder, "self.no_member")
    problem = said("record", "--source", "card:Card", "--quiet", code=1)
    place = f"AttributeError: 'Card' object has no attribute 'no_member', at card.py:{line}"
    assert f"card:Card gives no row, and has failed 5 times in the same way ({place}): mend it" in problem
    assert problem.count(f"card:Card is lost ({place}): it is opened again") == 1
    assert f"card:Card was lost 4 times ({place})" in problem


def test_what_the_user_has_set_is_named_where_the_class_fails_with_it(folder: Path) -> None:
    """And since no row was recorded, the file of the run is in the way of the next one."""
    line = wrong(folder, "1 / self.gain")
    text = (folder / "card.py").read_text()
    (folder / "card.py").write_text(text.replace('print("gain", gain)', "self.gain = gain"))
    problem = said("record", "--source", "card:Card", "--setting", "gain=half", "--quiet", code=1)
    assert re.search(rf"TypeError: .*, at card.py:{line}, with the setting gain='half'\)", problem)
    assert problem.endswith("thalweg: nothing was recorded: record again with --force or another --out\n")


def test_a_class_may_count_under_the_name_that_features_use(folder: Path) -> None:
    """Nothing is said of pulses then, and the report comes."""
    card(folder)
    text = (folder / "card.py").read_text()
    (folder / "card.py").write_text(f"{text}\n    def counters(self):\n        return {{'rows_without_pulse': 100}}\n")
    said("record", "--source", "card:Card", "--duration", "300ms", "--quiet", code=0)


def test_a_device_that_the_system_refuses_and_one_that_has_given_rows_are_tried_on(folder: Path) -> None:
    """The first has the error of a cable, the second fails at its third call. Each is lost ten times and more."""
    for line in ("raise ConnectionError('no cable')", 'self.n = getattr(self, "n", 0) + 1; self.n == 3 and 1 / 0'):
        number = wrong(folder, line)
        log = folder / f"said{number}"
        words = [THALWEG, "record", "--source", "card:Card", "--out", str(log.with_suffix(".h5")), "--quiet", "--force"]
        with log.open("w") as file, subprocess.Popen(words, stderr=file, stdout=subprocess.DEVNULL) as recorder:
            wait_for(lambda log=log: "was lost 10 times" in log.read_text())
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(60) == 1
        text = log.read_text()
        assert f"at card.py:{number}): it is opened again" in text
        assert len(re.findall("Z thalweg: .* it is opened again", text)) == 2
        assert "gives no row" not in text


def test_an_error_of_a_library_is_said_with_the_line_of_the_class_that_called_it(folder: Path) -> None:
    (folder / "vendor.py").write_text("def read():\n    raise KeyError('gain')\n")
    line = wrong(folder, "__import__('vendor').read()")
    problem = said("devices", "--source", "card:Card", code=1)
    assert f"KeyError: 'gain', raised at vendor.py:2, at card.py:{line}" in problem


def test_an_error_of_a_slow_instrument_is_said_with_its_line(folder: Path) -> None:
    (folder / "stage.py").write_text(
        "class Stage:\n    def units(self):\n        return {'t': 'K'}\n\n"
        "    def read(self):\n        return {'t': 1 / 0}\n"
    )
    device = '{source = "stage:Stage", kind = "slow", every = "100ms"}'
    problem = said("record", "--device", device, "--duration", "3s", "--quiet", code=0)
    why = "ZeroDivisionError: division by zero, at stage.py:6"
    assert problem.count(f"stage:Stage gives no values ({why}): it is opened again") == 1


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (("--source", "card:Card", "--rate", "800"), "digitizer); write --setting rate=800\n"),
        (("--device", '{source = "card:Card"}', "--rate", "800"), "; write rate = 800 in the table of the device\n"),
        (("--source", "card:Card", "--channels", "3"), "(only with --source digitizer)\n"),
        (("--source", "crad:Card", "--rate", "800"), "(only with --source digitizer)\n"),
    ],
)
def test_an_option_that_is_a_setting_of_the_class_is_named_as_one(folder: Path, words: Any, end: str) -> None:
    card(folder)
    (folder / "card.py").write_text((folder / "card.py").read_text().replace("gain=1", "gain=1, rate=1000.0"))
    problem = said("record", *words, code=2)
    assert f"{words[2]} cannot be given with --source c" in problem
    assert problem.endswith(end)
    assert not (folder / "run.h5").exists()


LOOKED = (
    "source crad:Card cannot be loaded (there is no module 'crad' in {folder}, in PYTHONPATH, which is {folder}, or "
    "among installed packages): check the name (did you mean 'card'?), or put its folder into PYTHONPATH\n"
)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("card.py:Card", "source card.py:Card is no module (it names a file): write card:Card\n"),
        ("./card.py:Card", "source card.py:Card is no module (it names a file): write card:Card\n"),
        (
            "other/card.py:Card",
            "(it names a file): write card:Card, and start in other, or put this folder into PYTHONPATH\n",
        ),
        ("crad:Card", LOOKED),
        ("card:Crad", "source card:Crad cannot be loaded (module 'card' has no attribute 'Crad'): give module:Class\n"),
        ("needs:Card", "source needs:Card cannot be loaded (No module named 'absent'): give module:Class\n"),
    ],
)
def test_where_a_class_was_looked_for_is_said(folder: Path, source: str, problem: str) -> None:
    card(folder)
    (folder / "needs.py").write_text("import absent\n")
    assert said("record", "--source", source, code=2).endswith(problem.format(folder=folder))
