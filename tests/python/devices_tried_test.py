"""`thalweg devices`, which tries devices, and what a file says of the options that they were recorded with."""

import json
from pathlib import Path
from typing import Any

import pytest
from recording import record

import thalweg as tw
from thalweg._recording.arrivals import Arrival

CARD, SILENT = "device_stand_ins:Card", "device_stand_ins:Silent"


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def test_devices_are_tried_as_a_run_would_use_them(tmp_path: Path, thalweg_command: Any) -> None:
    left = {"source": CARD, "name": "left", "notes": str(tmp_path), "each": 1_000_000}
    right = {"source": "digitizer", "name": "right", "samples": 64, "channels": 1, "isotope": "111In", "rate": "1kHz"}
    for number, table in enumerate((left, right)):
        with (tmp_path / "run.toml").open("a" if number else "w") as file:
            file.writelines(["[[device]]\n", *(f"{name} = {json.dumps(value)}\n" for name, value in table.items())])
    done = thalweg_command("devices", "--config", tmp_path / "run.toml", "--json")
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)
    assert tried["tables"].keys() == {"left_ch0", "right_ch0"}
    assert min(table["rows"] for table in tried["tables"].values()) > 100
    assert tried["tables"]["left_ch0"]["resets"] == 1
    assert [event["event"] for event in tried["events"]] == ["opened", "started", "stopped"]
    assert tried["settings"]["right"]["isotope"] == "111In"
    assert json.loads(thalweg_command("devices", "--json").stdout)["built_in"][:2] == ["digitizer", "replay"]
    lost = thalweg_command("devices", "--source", CARD, "--setting", f"notes={tmp_path}", "--setting", "faults=raise")
    assert lost.returncode == 1
    assert "is lost (KeyError: 'a fault of the plug-in', at" in lost.stderr


def test_a_device_that_is_tried_and_fails_is_not_to_be_recorded_again(thalweg_command: Any) -> None:
    done = thalweg_command("devices", "--source", SILENT, "--setting", "wrong=dtype")
    assert done.returncode == 1
    assert "table 'ch0', column 'number'" in done.stderr
    assert "nothing was recorded" not in done.stderr
    never = {"source": "digitizer", "samples": 64, "channels": 1, "rate": "0.0001Hz"}
    done = thalweg_command("devices", "--device", as_toml(never))
    assert "nothing was recorded (the source gave no record during the run): check its trigger" in done.stderr
    assert "--force" not in done.stderr


def test_the_rate_of_a_device_is_that_of_the_time_in_which_it_gave_records(
    tmp_path: Path, thalweg_command: Any
) -> None:
    """The first device ends after its records, long before the run: a rate over all the time would mean nothing."""
    left = {"source": CARD, "name": "left", "notes": str(tmp_path), "each": 50}
    right = {"source": "digitizer", "name": "right", "samples": 64, "channels": 1, "rate": "1kHz"}
    words = [word for each in (left, right) for word in ("--device", as_toml(each))]
    tried = json.loads(thalweg_command("devices", *words, "--duration", "5s", "--json").stdout)
    ended, whole = tried["tables"]["left_ch0"], tried["tables"]["right_ch0"]
    assert (ended["ended"], whole["ended"]) == (True, False)
    assert ended["rows"] == 50
    assert 0 < ended["seconds"] < whole["seconds"] == tried["seconds"]
    for table in (ended, whole):
        assert table["rows_per_s"] == pytest.approx(table["rows"] / table["seconds"], rel=0.02)
    (tmp_path / "handed").unlink()
    said = thalweg_command("devices", *words, "--duration", "5s").stdout
    assert said.count("/s raw, until the device ended after ") == 1


def test_opening_and_stopping_a_device_does_not_lower_its_rate(tmp_path: Path, thalweg_command: Any) -> None:
    words = ["--setting", f"notes={tmp_path}", "--setting", "each=1000000", "--duration", "3s", "--json"]
    tried = json.loads(thalweg_command("devices", "--source", "device_stand_ins:Slow", *words).stdout)
    assert tried["tables"]["ch0"]["rows_per_s"] == pytest.approx(1000, rel=0.1)
    digitizer = {"source": "digitizer", "samples": 64, "channels": 1, "rate": "1kHz"}
    tried = json.loads(thalweg_command("devices", "--device", as_toml(digitizer), "--json").stdout)
    table = tried["tables"]["ch0"]
    assert table["rows_per_s"] == pytest.approx(table["rows"], rel=0.1)  # in the second of its own clock
    assert not table["ended"]


@pytest.mark.parametrize(
    ("looks", "rows_per_s"),
    [
        ([(0, 0.5), (0, 1.0)], 0),
        ([(0, 0.5), (100, 2.0), (100, 4.0)], 50),  # all at once
        ([(500, 1.5), (1000, 2.0), (1500, 2.5), (1500, 9.0)], 1000),  # in batches
        ([(500, 1.5), (1000, 2.0), (50, 3.0), (150, 3.1)], 1000),  # the next file has begun
        ([(0, 1.0), (500, -2.0), (1000, -2.5)], 1000),  # handed out when the run is over
        ([(500, 1.0), (1000, 1.5), (9000, -1.6)], 1000),
    ],
)
def test_the_rate_is_that_between_the_first_rows_and_the_last(looks: list[Any], rows_per_s: float) -> None:
    arrival = Arrival()
    for rows, elapsed_s in looks:
        arrival.see(rows, abs(elapsed_s), is_over=elapsed_s < 0)
    assert arrival.rows_per_s == pytest.approx(rows_per_s)


def as_toml(table: dict[str, object]) -> str:
    return f"{{{', '.join(f'{name} = {json.dumps(value)}' for name, value in table.items())}}}"


def test_the_configuration_in_a_file_has_no_options_of_other_sources(tmp_path: Path) -> None:
    def kept(*options: object) -> dict[str, Any]:
        record(tmp_path / "run.h5", *options, "--force")
        return dict(json.loads(tw.open(tmp_path / "run.h5").metadata["configuration"]))

    of_digitizer = {"channels", "rate", "records", "isotope", "samples", "seed", "onboard_memory"}
    of_others = {"input", "loops", "row", "allow_missing"}
    of_class = kept("--source", CARD, "--setting", f"notes={tmp_path}")
    assert not of_class.keys() & (of_digitizer | of_others)
    assert {"source", "setting", "features", "waveforms", "duration"} <= of_class.keys()
    card = {"source": CARD, "name": "left", "notes": str(tmp_path)}
    digitizer = {"source": "digitizer", "name": "right", "samples": 64, "channels": 1, "records": 100, "rate": "1kHz"}
    both = kept("--device", as_toml(card), "--device", as_toml(digitizer))
    assert of_digitizer <= both.keys()
    assert not both.keys() & of_others
