"""A name that is wrong is answered with the one that is probably meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw

SCHEMA = tw.schema(
    {
        "ch0": {
            "timestamp": tw.uint64(unit="ns", attrs={"calibration": 1.5}),
            "waveform": {"t0": tw.float32, "values": tw.array(tw.uint16, 4)},
            "hits": tw.list_({"energy": tw.float32}),
        },
        "temperature": {"celsius": tw.float32},
    },
    attrs={"ch0": {"detector": "LaBr3"}},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tw.Run:
    path = tmp_path_factory.mktemp("names") / "run.h5"
    with tw.create(path, SCHEMA) as out:
        wave = {"t0": 0.0, "values": [1, 2, 3, 4]}
        out.producer("ch0").append(timestamp=1, waveform=wave, hits=[{"energy": 511.0}])
    return tw.open(path)


@pytest.mark.parametrize(
    ("use", "meant"),
    [
        (lambda run: run["temperatur"], "temperature"),
        (lambda run: run["waveforms"], "ch0/waveform"),
        (lambda run: run["ch1/waveform"], "ch0/waveform"),
        (lambda run: run["ch0/wavefrom"], "waveform"),
        (lambda run: run["ch0"]["time_stamp"], "timestamp"),
        (lambda run: run["ch0"]["value"], "waveform/values"),
        (lambda run: run["ch0"]["waveform/vlaues"], "waveform/values"),
        (lambda run: run["ch0"].read(columns=["timestamps"]), "timestamp"),
        (lambda run: run["ch0"].read("hits/energi"), "hits/energy"),
        (lambda run: run["ch0"].read(["timestamp", "Waveform"]), "waveform"),
        (lambda run: next(iter(run["ch0"].batches("timestmp"))), "timestamp"),
        (lambda run: run.column("ch0/timestmp"), "timestamp"),
        (lambda run: next(iter(run.follow("timestmp"))), "timestamp"),
        (lambda run: run["ch0"].read("timestamp")["timestmp"], "timestamp"),
        (lambda run: run["ch0"].attrs["detectors"], "detector"),
        (lambda run: run["ch0"].schema["timestmp"], "timestamp"),
        (lambda run: run.schema["ch"], "ch0"),
    ],
)
def test_the_name_that_is_meant_is_said(use: Callable[[tw.Run], Any], meant: str, run: tw.Run) -> None:
    with pytest.raises(tw.UnknownNameError) as error:
        use(run)
    assert f"(did you mean '{meant}'?)" in str(error.value)


def test_names_that_are_like_no_other_are_answered_with_a_list(run: tw.Run) -> None:
    with pytest.raises(tw.UnknownNameError, match=r"has no column 'xyz'; its fields are timestamp, waveform, hits$"):
        run["ch0"]["xyz"]
    with pytest.raises(tw.UnknownNameError, match=r"there is no table 'xyz'; the tables are ch0, temperature$"):
        run["xyz"]


def test_a_wrong_table_of_plot_is_answered_with_the_one_that_is_meant(run: tw.Run, thalweg_command: Any) -> None:
    done = thalweg_command("plot", run.path, "--table", "temperatures")
    assert done.returncode == 2
    assert "(did you mean 'temperature'?)" in done.stderr


def test_a_producer_of_a_wrong_table_or_column_is_told(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"events": {"energy": tw.float32}}) as out:
        with pytest.raises(tw.UnknownNameError, match=r"did you mean 'events'\?"):
            out.producer("event")
        with pytest.raises(tw.UsageError, match="enery"):
            out.producer("events").append(enery=1.0)
