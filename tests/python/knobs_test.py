"""The one table of knobs: in Python, on the command line, in the file, in `inspect` and on its page."""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from recording import SMALL, record

import thalweg as tw
from thalweg import _core
from thalweg.cli.knobs import knobs_page

SCHEMA = {"t": {"x": tw.uint32}}
NAMES = [knob.name for knob in _core.knobs()]
CONTAINERS = pytest.mark.parametrize("ending", ["h5", "root"])


def test_the_page_is_up_to_date(repository: Path) -> None:
    there = (repository / "docs" / "knobs.md").read_text()
    assert there == knobs_page(), "make it anew: thalweg knobs --markdown > docs/knobs.md"


def test_every_default_is_a_value_of_its_knob() -> None:
    for knob in _core.knobs():
        assert knob.text(knob.default) == knob.default
        assert tw.Tuning({knob.name: knob.default}).texts == {knob.name: knob.default}


def test_values_are_numbers_in_the_base_unit_or_strings_with_theirs() -> None:
    tuning = tw.Tuning(flush_interval=0.5, extent_bytes="4 MiB", queue_depth=np.uint8(7), whole_file_checksum=False)
    assert dict(tuning) == {
        "flush_interval": 0.5,
        "extent_bytes": 4 << 20,
        "queue_depth": 7,
        "whole_file_checksum": False,
    }
    assert tuning == tw.Tuning.parse(
        ["flush_interval=500ms", "extent_bytes=4194304", "queue_depth=7", "whole_file_checksum=no"]
    )
    assert tuning | {"queue_depth": 2} == tw.Tuning({**tuning, "queue_depth": "2"})
    assert tw.Tuning(narrow_page_bytes=None) == tw.Tuning(narrow_page_bytes="auto") == {"narrow_page_bytes": None}
    assert repr(tw.Tuning(flush_interval=0.25)) == "Tuning(flush_interval='250 ms')"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"flush_intervall": 1}, "did you mean 'flush_interval'"),
        ({"zebra": 1}, f"there are {', '.join(NAMES)}"),
        ({"flush_interval": "5 MiB"}, "a time from 1 ms to 1 h.*500 ms"),
        ({"flush_interval": 0}, "from 1 ms to 1 h"),
        ({"extent_bytes": 1}, "a size from 4 KiB to 1 GiB.*64 MiB"),
        ({"extent_bytes": -1}, "a size from 4 KiB to 1 GiB"),
        ({"queue_depth": 1.5}, "a whole number from 1 to 1024"),
        ({"queue_depth": True}, "a whole number from 1 to 1024"),
        ({"extent_bytes": None}, "a size from"),
        ({"extent_bytes": [1]}, r"cannot be \[1\] \(a list\)"),
        ({"engine": "fast"}, "auto, uring, threads or posix"),
    ],
)
def test_what_is_wrong_is_said(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match=said):
        tw.Tuning(values)
    with pytest.raises(tw.UsageError, match=said):
        tw.create(tmp_path / "run.h5", SCHEMA, tuning=values)
    assert not list(tmp_path.iterdir())


def test_a_variable_sets_what_the_program_leaves_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_KNOBS", "queue_depth=16;extent_bytes=64 KiB")
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning={"extent_bytes": "128 KiB"}) as out:
        assert out.knobs["queue_depth"] == 16
        assert out.knobs["extent_bytes"] == 128 << 10, "what the program gives wins"
    monkeypatch.setenv("THALWEG_KNOBS", "")
    with tw.create(tmp_path / "default.h5", SCHEMA) as out:
        assert out.knobs["queue_depth"] == 4
    for wrong, said in (("queue_dept=16", "did you mean 'queue_depth'"), ("queue_depth", "KNOB=VALUE")):
        monkeypatch.setenv("THALWEG_KNOBS", wrong)
        with pytest.raises(tw.UsageError, match=f"THALWEG_KNOBS: .*{said}"):
            tw.create(tmp_path / "wrong.h5", SCHEMA)


def test_a_codec_for_all_columns_and_one_for_some_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match="'wide_codec' and a codec for all columns are given"):
        tw.create(tmp_path / "run.h5", SCHEMA, codec="lz4", tuning={"wide_codec": "none"})


ASKED = {"flush_interval": 0.02, "extent_bytes": 64 << 10, "engine": "posix", "narrow_page_bytes": 64, "threads": 1}


@CONTAINERS
def test_the_values_in_effect_are_in_the_run_while_it_is_open_and_in_the_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{ending}"
    own_codec = {"h5": "bitshuffle+lz4", "root": "zstd-1"}[ending]
    with tw.create(path, SCHEMA, tuning=ASKED) as out:
        assert out.knobs.keys() == set(NAMES)
        assert out.knobs.items() >= ASKED.items()
        assert out.knobs["wide_codec"] == own_codec, "what the container chose, and not that it was to choose"
        with out.producer("t") as producer:
            producer.append(x=np.arange(1000, dtype=np.uint32))
        assert tw.open(path).knobs == out.knobs
    run = tw.open(path)
    assert run.knobs == out.knobs
    assert run.metadata == {}, "knobs are no metadata of the user's"
    pages = {column.page_items for column in _core.storage_of(run._core, 0)}
    assert pages == {16}, "and they are what the file was written with"


def test_a_run_that_was_recovered_has_them_too(tmp_path: Path) -> None:
    out = tw.create(tmp_path / "run.h5", SCHEMA, tuning=ASKED)
    knobs = out.knobs
    out.abandon()
    tw.recover(tmp_path / "run.h5")
    assert tw.open(tmp_path / "run.h5").knobs == knobs


def test_they_are_readable_without_thalweg(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning=ASKED):
        pass
    with h5py.File(tmp_path / "run.h5") as file:
        head = json.loads(json.loads(file["thalweg/run"][...].tobytes())["head"])
    assert head["knobs"]["flush_interval"] == "20 ms"
    assert head["knobs"]["extent_bytes"] == "64 KiB"
    assert head["engine"] == "posix"


def test_knobs_of_another_version_are_shown_as_they_are() -> None:
    from thalweg._schema.tuning import in_effect

    assert in_effect({"from_the_future": "3 apples", "queue_depth": "4"}) == {
        "queue_depth": 4,
        "from_the_future": "3 apples",
    }


@CONTAINERS
def test_inspect_shows_them(ending: str, tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / f"run.{ending}"
    with tw.create(path, SCHEMA, tuning=ASKED) as out:
        for _ in range(2):  # of the open run, then of the file
            text = thalweg_command("inspect", path).stdout
            changed = re.search(r"Knobs that differ from the defaults: (.*) \(--json has all\)", text)
            assert changed
            asked = {"flush_interval=20 ms", "extent_bytes=64 KiB", "narrow_page_bytes=64 B", "threads=1"}
            assert set(changed[1].split(", ")) == asked
            assert "Written by posix" in text
            facts = json.loads(thalweg_command("inspect", path, "--json").stdout)
            assert facts["knobs"] == out.knobs
            assert facts["engine"] == "posix"
            if facts["is_open"] and ending == "h5":
                out.close()


def test_record_sets_them_in_every_process(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    arguments = ["--set", "flush_interval=20ms", "--set", "threads=1", "--engine", "posix", "--codec", "lz4"]
    record(path, *SMALL, "--records", 100, *arguments)
    knobs = tw.open(path).knobs
    assert (knobs["flush_interval"], knobs["threads"], knobs["engine"]) == (0.02, 1, "posix")
    assert knobs["wide_codec"] == knobs["narrow_codec"] == "lz4"


def test_a_process_that_attaches_writes_as_the_creator_says(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning={"threads": 2}) as out:
        assert tw.attach(out.handle).threads == 2
        assert tw.attach(out.handle, threads=0).threads == 0


def test_convert_sets_them(tmp_path: Path, thalweg_command: Any) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, out.producer("t") as producer:
        producer.append(x=np.arange(1000, dtype=np.uint32))
    done = thalweg_command("convert", tmp_path / "run.h5", tmp_path / "run.root", "--set", "narrow_page_bytes=64")
    assert done.returncode == 0, done.stderr
    assert tw.open(tmp_path / "run.root").knobs["narrow_page_bytes"] == 64


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("record --out run.h5 --set flush_interval", "is not of the form KNOB=VALUE"),
        ("record --out run.h5 --set flush=1s", "did you mean 'flush_interval'?"),
        ("record --out run.h5 --set flush_interval=1", None),
        ("record --out run.h5 --set flush_interval=1s --set flush_interval=2s", "given twice"),
        ("record --out run.h5 --flush-interval 1s --set flush_interval=2s", "by --flush-interval and by --set"),
        ("record --out run.h5 --codec lz4 --set wide_codec=none", "and a codec for all"),
        ("convert run.h5 run.root --set extent_bytes=1", "a size from 4 KiB to 1 GiB"),
        ("readout collect --out run.h5 --handler 127.0.0.1:1 --set queue_depth=0", "a whole number from 1 to 1024"),
    ],
)
def test_wrong_settings_end_with_code_2(
    arguments: str, said: str | None, tmp_path: Path, thalweg_command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = arguments.split()
    if said is None:
        assert thalweg_command(*words, *SMALL, "--records", 1).returncode == 0
        return
    done = thalweg_command(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_command_lists_them(thalweg_command: Any) -> None:
    shown = thalweg_command("knobs").stdout
    listed = json.loads(thalweg_command("knobs", "--json").stdout)
    assert [knob["name"] for knob in listed] == NAMES
    assert all(name in shown for name in NAMES)
    interval = next(knob for knob in listed if knob["name"] == "flush_interval")
    assert interval["default"] == 1.0
    assert interval["unit"] == "seconds"
