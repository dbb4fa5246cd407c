"""`--source caen`, over a stand-in for the vendor's library: every event of the board is in the file, and what the
board does is said. The stand-in shows nothing of how a real board behaves beyond what public documents say."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import card_bench
import numpy as np
import pytest
from c_sources import FELIB, compiled
from recording import THALWEG, record

import thalweg as tw
from thalweg import _core
from thalweg._devices.c_source import built_in
from thalweg.sources import DeviceLost
from thalweg.testing.sources import SourceSuite, open_library

RATE, SAMPLES = 20_000, 64
TICK_PS = 8000
COUNTERS = ("lost_triggers", "bad_events", "damaged_bytes", "board_dead_time_ns", "board_real_time_ns")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(compiled(FELIB, tmp_path_factory.mktemp("felib")))


class Bench:
    """A board in this process."""

    def __init__(self, driver: str, path: Path) -> None:
        self.driver, self.path = driver, path

    def open(self, options: str = "", *, address: str = "dig2://board", **settings: Any) -> Any:
        full = f"{address}?rate={RATE}&{options}"
        given = {"library": self.driver, "address": full, "samples": SAMPLES}
        return open_library("caen", **given | settings)

    def record(self, options: str = "", *, rows: int = 2000, **settings: Any) -> Any:
        """Returns the tables of the file, and keeps the counters."""
        recorded = card_bench.bench("caen", self.open(options, **settings), self.path, rows)
        self.counters = {name: recorded.counters["ch0"][name] for name in COUNTERS}
        return recorded.run


@pytest.fixture
def bench(driver: str, tmp_path: Path) -> Bench:
    return Bench(driver, tmp_path / "run.h5")


class TestBoard(SourceSuite):
    seconds = 0.3

    @pytest.fixture(autouse=True)
    def _bench(self, bench: Bench) -> None:
        self.bench = bench

    def make(self) -> Any:
        return self.bench.open()


class TestBoardWithRawEvents(TestBoard):
    def make(self) -> Any:
        return self.bench.open(endpoint="raw")


def samples_of(channel: int, triggers: np.ndarray, samples: int = SAMPLES) -> Any:
    return 8192 + 100 * channel + (np.arange(samples) + triggers[:, None]) % 64


def triggers_of(rows: Any, step: int = 10**9 // 8 // RATE) -> np.ndarray:
    """The numbers of the triggers, by their times."""
    numbers = rows["timestamp"] // np.uint64(TICK_PS * step)
    assert (rows["timestamp"] == numbers * np.uint64(TICK_PS * step)).all()
    return np.asarray(numbers.astype(np.int64))


def check_scope(
    rows: Any, channel: int, *, has_flags: bool = True, period_ns: float = 8, samples: int = SAMPLES
) -> np.ndarray:
    triggers = triggers_of(rows)
    assert (np.diff(triggers) > 0).all()
    assert (rows["waveform"]["values"] == samples_of(channel, triggers, samples)).all()
    assert (rows["waveform"]["dt"] == period_ns).all()
    if has_flags:
        assert (rows["flags"] == triggers % 8192).all()
    return triggers


@pytest.mark.parametrize("endpoint", ["auto", "raw"])
def test_every_event_has_its_samples_and_its_time(bench: Bench, endpoint: str) -> None:
    run = bench.record(endpoint=endpoint, channels=[0, 3])
    assert set(run.schema) == {"ch0", "ch3"}
    assert len(run["ch0"]) == len(run["ch3"]) >= 1000
    for channel in (0, 3):
        rows = run[f"ch{channel}"].read()
        triggers = check_scope(rows, channel)
        assert (triggers == np.arange(len(triggers))).all()
        assert (rows["waveform"]["t0"] == -800).all()
    counters = dict(bench.counters)
    real_ns = counters.pop("board_real_time_ns")
    assert set(counters.values()) == {0}
    assert (real_ns > 0) == (endpoint == "raw")


@pytest.mark.parametrize("endpoint", ["scope", "raw"])
def test_triggers_that_are_missing_are_counted(bench: Bench, endpoint: str) -> None:
    run = bench.record(f"lost_every=100&first_id={2**24 - 500}", endpoint=endpoint)
    triggers = check_scope(run["ch0"].read(), 0)
    assert bench.counters["lost_triggers"] == triggers[-1] + 1 - len(triggers) >= 5
    assert bench.counters["bad_events"] == 0


def test_a_full_memory_costs_the_triggers_that_it_counts(bench: Bench) -> None:
    run = bench.record("memory=2560&slow_every=200&slow_ms=20", rows=3000)
    triggers = check_scope(run["ch0"].read(), 0)
    # Those in front of the first one that came are not counted: the numbers need not begin at 0.
    assert bench.counters["lost_triggers"] == triggers[-1] + 1 - triggers[0] - len(triggers) > 100


@pytest.mark.parametrize("endpoint", ["scope", "raw"])
def test_records_of_another_length_are_left_out_and_counted(bench: Bench, endpoint: str) -> None:
    run = bench.record("short_every=50", endpoint=endpoint, channels=[0])
    triggers = check_scope(run["ch0"].read(), 0)
    assert (triggers % 50 != 49).all()
    assert bench.counters["bad_events"] == pytest.approx((triggers[-1] + 1) / 50, abs=1)
    assert bench.counters["lost_triggers"] == 0


def test_dead_time_is_that_of_the_event_at_the_stop(bench: Bench) -> None:
    bench.record("dead=123456", endpoint="raw")
    assert bench.counters["board_dead_time_ns"] == 123456 * 8
    assert bench.counters["board_real_time_ns"] >= 1000 * 10**9 // RATE


def test_blocks_that_are_cut_cost_their_last_event(bench: Bench) -> None:
    run = bench.record("truncate_every=3&block=20", endpoint="raw", channels=[0])
    triggers = check_scope(run["ch0"].read(), 0)
    lost = triggers[-1] + 1 - len(triggers)
    assert lost == bench.counters["lost_triggers"] >= 5
    event_bytes = 24 + 2 * SAMPLES
    assert bench.counters["damaged_bytes"] in {count * (event_bytes - 40) for count in (lost, lost + 1)}
    assert bench.counters["bad_events"] == 0


def test_time_tags_of_31_bits_do_not_jump_back(bench: Bench) -> None:
    step = 123_456_789
    run = bench.record(f"tag_step={step}", address="dig1://caen.internal/usb")
    rows = run["ch0"].read()
    count = len(run["ch0"])
    assert count * step > 50 * 2**31
    assert (triggers_of(rows, step) == np.arange(count)).all()


def test_a_dt5730_has_records_of_its_length(bench: Bench) -> None:
    run = bench.record(address="dig1://caen.internal/usb", samples=70)
    triggers = check_scope(run["ch1"].read(), 1, has_flags=False, period_ns=2, samples=70)
    assert (triggers == np.arange(len(triggers))).all()
    assert list(run.schema["ch1"]) == ["timestamp", "waveform"]


@pytest.mark.parametrize("firmware", ["DPP_PHA", "DPP_PSD"])
def test_dpp_firmwares_have_the_columns_of_compass(bench: Bench, firmware: str) -> None:
    run = bench.record(f"fw={firmware}&short_every=10")
    short = ["energy_short"] if firmware == "DPP_PSD" else []
    assert list(run.schema["ch0"]) == ["timestamp", "energy", *short, "flags", "waveform"]
    for channel in (0, 1):
        rows = run[f"ch{channel}"].read()
        triggers = np.arange(len(run[f"ch{channel}"]))
        fine = np.floor(triggers % 1024 * 7.8125 + 0.5).astype(np.int64)
        assert (rows["timestamp"].astype(np.int64) == triggers * (10**12 // RATE) + fine).all()
        assert (rows["energy"] == (7 * triggers + channel) % 65536).all()
        if short:
            assert (rows["energy_short"] == (5 * triggers + channel) % 65536).all()
        assert (rows["flags"] == (channel << 16 | triggers % 4096)).all()
        waves = rows["waveform"]["values"]
        for trigger in (0, 8, 9, 10, 19):
            length = SAMPLES // 2 if trigger % 10 == 9 else SAMPLES
            assert (waves[trigger] == samples_of(channel, triggers[trigger : trigger + 1], length)[0]).all()
            assert len(waves[trigger]) == length


def test_dpp_without_waveforms_and_dpp_of_a_dt5730(bench: Bench) -> None:
    run = bench.record("fw=DPP_PSD", waveforms=False, fine_unit=0)
    assert list(run.schema["ch0"]) == ["timestamp", "energy", "energy_short", "flags"]
    assert (triggers_of(run["ch0"].read()) == np.arange(len(run["ch0"]))).all()
    run = bench.record("fw=DPP-PHA", address="dig1://caen.internal/usb", samples=70)
    rows = run["ch1"].read()
    triggers = triggers_of(rows)
    assert list(run.schema["ch1"]) == ["timestamp", "energy", "waveform"]
    assert (rows["energy"] == (7 * triggers + 1) % 65536).all()
    assert (np.asarray(rows["waveform"]["values"][5]) == samples_of(1, triggers[5:6], 70)[0]).all()


def test_a_board_that_stops_by_itself_ends_the_run(driver: str, tmp_path: Path) -> None:
    address = f"address=dig2://board?rate={RATE}&end_at=500"
    words = ["--setting", f"library={driver}", "--setting", address]
    report = record(tmp_path / "run.h5", "--source", "caen", *words, "--duration", "30s")
    assert report["seconds"] < 15
    assert report["channels"]["ch0"]["rows"] == report["channels"]["ch1"]["rows"] == 500


def test_the_end_of_a_run_that_comes_late_does_not_end_the_next_one(bench: Bench) -> None:
    board = bench.open("late_stop=1")
    board.describe()
    for _ in range(3):
        board.start()
        assert any(board.next(1.0) for _ in range(3))
        board.stop()
        while board.next(0.0):
            pass
    board.close()


def test_boards_that_fail_in_all_ways_go_on_in_one_file(driver: str, tmp_path: Path) -> None:
    faults = {
        "error": "error_at=200",
        "unplugged": "unplug_at=200&unplug_for=1",
        "crashing": "crash_at=200",
        "hanging": "hang_at=200",
    }
    tables = []
    for name, fault in faults.items():
        address = f"dig2://{name}?rate=1000&{fault}&once={tmp_path / name}"
        endpoint = "raw" if name == "crashing" else "scope"
        table = {"source": "caen", "name": name, "library": driver, "address": address, "samples": SAMPLES}
        tables += ["--device", json.dumps(table | {"endpoint": endpoint, "batch": 10, "deadline": "1s"})]
    report = record(tmp_path / "run.h5", *tables, "--duration", "5s", code=1)
    broken = "CAEN_FELib_ReadData: the connection is broken: scope (CommunicationError, -15)"
    said = {
        "error": broken,
        "unplugged": broken,
        "crashing": "it was killed by SIGSEGV",
        "hanging": "it did not return from next within 1.1 s",
    }
    card_bench.check_all_came_back(tmp_path / "run.h5", said)
    run = tw.open(tmp_path / "run.h5")
    for name in faults:
        rows = run[f"{name}_ch0"].read(["timestamp", "flags"])
        # Rows of two processes are in the order in which their pages came.
        order = np.argsort(rows["timestamp"])
        stamps, triggers = rows["timestamp"][order].astype(np.int64), rows["flags"][order].astype(np.int64)
        assert (np.diff(stamps) > 0).all()
        (again,) = np.flatnonzero(np.diff(triggers) < 0) + 1
        assert again >= 190
        dead_ns = report["channels"][f"{name}_ch0"]["dead_time_ns"]
        assert dead_ns == pytest.approx((stamps[again] - stamps[again - 1]) / 1000, abs=1)
        # The board counts its triggers from its start.
        for part in (triggers[:again], triggers[again:]):
            assert (part == np.arange(len(part)) % 8192).all()


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        ("", {"address": "usb://1"}, "setting 'address' is 'usb://1?rate=20000&' (it begins with dig1:// or dig2://)"),
        ("", {"library": "/none/libCAEN_FELib.so"}, "the driver /none/libCAEN_FELib.so cannot be loaded"),
        ("old=1", {}, "(DeviceLibraryNotAvailable, -10)"),
        (
            "",
            {"parameters": {"/par/None": 1}},
            "SetValue of /par/None = 1: no such parameter: /par/None (InvalidParam, -2)",
        ),
        ("", {"parameters": [1]}, "setting 'parameters' is [1] (it is a table of values by path)"),
        ("", {"channels": [8]}, "there is no channel 8 (V2745 has 8 of them, from 0 on)"),
        ("", {"channels": ["a"]}, "(it is a list of numbers from 0 on)"),
        ("", {"channels": []}, "no channel of V2745 is on: set 'channels'"),
        ("", {"software_start": "yes"}, "setting 'software_start' is 'yes' (there are auto, on, off)"),
        ("", {"tick": 0.0}, "setting 'tick' is 0"),
        ("", {"time_bits": 64}, "setting 'time_bits' is 64 (it is 0 to 63)"),
        ("", {"sampels": 5}, "caen has no setting 'sampels' (did you mean 'samples'?)"),
        ("fw=DPP_PHA", {"endpoint": "raw"}, "endpoint raw of V2745 cannot be decoded (its firmware is DPP_PHA"),
        ("fw=DPP_PHA", {"trigger_ids": "on"}, "events of DPP firmwares have no trigger numbers"),
    ],
)
def test_what_the_board_cannot_do_is_refused(bench: Bench, options: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(tw.UsageError, match=re.escape(said)):
        bench.open(options, **settings)


def test_a_library_that_lacks_a_function_is_refused(bench: Bench, tmp_path: Path) -> None:
    old = compiled(FELIB, tmp_path, "-DNO_FORMAT")
    with pytest.raises(tw.UsageError, match="has no function CAEN_FELib_SetReadDataFormat"):
        bench.open(library=str(old))


def test_a_board_that_is_open_or_not_there_is_lost(bench: Bench) -> None:
    first = bench.open()
    with pytest.raises(DeviceLost, match=re.escape("the device is already open: dig2://board")):
        bench.open()
    first.close()
    bench.open().close()
    with pytest.raises(DeviceLost, match=re.escape("(DeviceAlreadyOpen, -3)")):
        bench.open("busy=1")
    with pytest.raises(DeviceLost, match=re.escape("(DeviceNotFound, -4)")):
        bench.open(address="dig2://nowhere")


def test_slow_reads_lose_nothing(bench: Bench) -> None:
    run = bench.record("slow_every=100&slow_ms=20")
    triggers = check_scope(run["ch0"].read(), 0)
    assert (triggers == np.arange(len(triggers))).all()


def test_values_are_read_back_and_kept(driver: str, tmp_path: Path) -> None:
    parameters = {"/ch/0..1/par/DCOffset": 20, "AcqTriggerSource": "SwTrg | TestPulse"}
    device = {"source": "caen", "library": driver, "address": f"dig2://board?rate={RATE}", "samples": 62}
    words = ["--device", json.dumps(device | {"parameters": parameters})]
    command = [THALWEG, "record", *words, "--duration", "200ms", "--out", str(tmp_path / "run.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "caen: V2745 took other values than were given: /par/RECORDLENGTHS = 64 (not 62)\n" in done.stderr
    kept = json.loads(tw.open(tmp_path / "run.h5").metadata["source_settings"])
    assert (kept["model"], kept["serial_number"], kept["firmware"]) == ("V2745", "12345", "Scope")
    assert (kept["samples"], kept["endpoint"], kept["driver"]) == (64, "scope", "1.3.2")
    assert kept["parameters"] == {
        "/par/RECORDLENGTHS": "64",
        "/ch/0/par/DCOffset": "20",
        "/ch/1/par/DCOffset": "20",
        "/par/AcqTriggerSource": "SwTrg | TestPulse",
    }
    listed = subprocess.run([THALWEG, "devices", "--json"], capture_output=True, text=True, check=True)
    assert "caen" in json.loads(listed.stdout)["built_in"]


def test_the_example_of_its_page_runs(driver: str, repository: Path, tmp_path: Path) -> None:
    page = (repository / "docs/caen.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    example = example.replace('"1h"', '"300ms"').replace('source = "caen"', f'source = "caen"\nlibrary = "{driver}"')
    (tmp_path / "run.toml").write_text(example)
    report = record(tmp_path / "run.h5", "--config", tmp_path / "run.toml")
    assert all(report["channels"][f"left_ch{channel}"]["rows"] > 100 for channel in range(4))
    assert report["channels"]["right_ch0"]["rows"] > 100
    run = tw.open(tmp_path / "run.h5")
    assert run["left_ch3"].read()["waveform"]["values"].shape[1] == 1024
    assert run["right_ch1"].read()["waveform"]["values"].shape[1] == 1000


# The vendor's Python package reads the same events from the stand-in.
_VENDOR = """
from caen_felib import device, error, lib
with device.connect("dig2://board?rate=5000") as board:
    board.par.RECORDLENGTHS.value = "62"
    samples, channels = int(board.par.RECORDLENGTHS.value), int(board.par.NUMCH.value)
    endpoint = board.endpoint.scope
    board.endpoint.par.ACTIVEENDPOINT.value = "scope"
    data = endpoint.set_read_data_format([
        {"name": "TIMESTAMP", "type": "U64"},
        {"name": "TRIGGER_ID", "type": "U32"},
        {"name": "WAVEFORM", "type": "U16", "dim": 2, "shape": [channels, samples]},
        {"name": "WAVEFORM_SIZE", "type": "SIZE_T", "dim": 1, "shape": [channels]},
    ])
    board.cmd.ARMACQUISITION()
    board.cmd.SWSTARTACQUISITION()
    for trigger in range(20):
        endpoint.read_data(1000, data)
        assert [int(data[0].value), int(data[1].value)] == [trigger * 25000, trigger]
        assert data[3].value.tolist() == [64, 64] + [0] * (channels - 2)
        assert data[2].value[1].tolist() == [8292 + (i + trigger) % 64 for i in range(64)]
    board.cmd.DISARMACQUISITION()
    codes = []
    while not codes:
        try:
            endpoint.read_data(100, data)
        except error.Error as raised:
            codes.append(raised.code)
    assert codes == [error.ErrorCode.STOP]
    assert [each.name for each in board.ch][:2] == ["0", "1"]
print(lib.version)
"""


def test_the_vendors_python_package_runs_on_the_stand_in(driver: str, tmp_path: Path) -> None:
    (tmp_path / "libCAEN_FELib.so").symlink_to(driver)
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _VENDOR], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1.3.2\n"


def test_its_page_has_all_settings_and_counters(repository: Path) -> None:
    page = (repository / "docs/caen.md").read_text()
    library = _core.PlugInLibrary(str(built_in()["caen"]))
    names = [setting.name for setting in library.settings]
    assert len(names) == 15
    assert [name for name in (*names, *COUNTERS) if f"`{name}`" not in page] == []
    assert "**It was not tried on hardware.**" in page
