"""`--source acqiris`, over a stand-in for the vendor's library: every record of the card is in the file, and what the
card does is said. The stand-in shows nothing of how a real card behaves beyond what public manuals say."""

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import card_bench
import numpy as np
import pytest
from c_sources import AQMD3, compiled
from recording import THALWEG, record

import thalweg as tw
from thalweg import _core
from thalweg._devices.c_source import built_in
from thalweg.sources import DeviceLost
from thalweg.testing.sources import SourceSuite, open_library

SAMPLES, POOL, RATE = 2560, 64, 20_000
PERIOD_PS = 10**12 // RATE
COUNTERS = ("bad_markers", "missing_records", "undrained_records", "adc_overranges")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("aqmd3")


@pytest.fixture(scope="module")
def driver(folder: Path) -> str:
    return str(compiled(AQMD3, folder))


@pytest.fixture(scope="module")
def pulses(folder: Path) -> np.ndarray:
    made = np.random.default_rng(5).integers(0, 1024, (POOL, SAMPLES)).astype(np.uint16)
    made.tofile(folder / "pulses")
    return made


class Bench:
    """A card in this process: opened, recorded until it has given so many rows, and read back."""

    def __init__(self, driver: str, folder: Path, path: Path) -> None:
        self.driver, self.folder, self.path = driver, folder, path
        self.told: list[dict[str, Any]] = []

    def open(self, options: str = "", **settings: Any) -> Any:
        given = f"Simulate=false, rate={RATE}, pulses={self.folder / 'pulses'}, {options}"
        given_settings = {"library": self.driver, "resource": "PXI0::0::0::INSTR", "samples": SAMPLES, "batch": 16}
        return open_library("acqiris", **given_settings | {"driver_options": given} | settings)

    def record(self, options: str = "", *, rows: int = 1000, **settings: Any) -> Any:
        """Returns the tables of the file, and keeps the counters."""
        recorded = card_bench.bench("acqiris", self.open(options, **settings), self.path, rows)
        self.told = recorded.told
        self.counters = {name: recorded.counters["ch1"][name] for name in COUNTERS}
        return recorded.run


@pytest.fixture
def bench(driver: str, folder: Path, pulses: np.ndarray, tmp_path: Path) -> Bench:
    assert len(pulses) == POOL
    return Bench(driver, folder, tmp_path / "run.h5")


class TestCard(SourceSuite):
    seconds = 0.3

    @pytest.fixture(autouse=True)
    def _bench(self, bench: Bench) -> None:
        self.bench = bench

    def make(self) -> Any:
        return self.bench.open()


def positions_of(rows: int, rate: int = RATE) -> np.ndarray:
    """The triggers of the stand-in, in 1/256 of a sample of 10 GS/s."""
    numbers = np.arange(rows, dtype=np.int64)
    return numbers * (10**10 * 256 // rate) + numbers * 37 % 256


@pytest.mark.parametrize("order", ["low-first", "high-first"])
@pytest.mark.parametrize("is_signed", [False, True])
def test_every_record_has_its_samples_and_its_time(
    bench: Bench, pulses: np.ndarray, order: str, is_signed: bool
) -> None:
    options = f"high_first={int(order == 'high-first')}, signed={int(is_signed)}, shifted=1"
    run = bench.record(options, sample_order=order, signed=is_signed)
    rows = run["ch1"].read()
    count = len(run["ch1"])
    assert count >= 1000
    expected = pulses[np.arange(count) % POOL]
    waveforms = rows["waveform"].astype(np.int64)
    assert waveforms.shape == (count, SAMPLES)
    assert (waveforms + 512 * is_signed == expected).all()
    positions = positions_of(count)
    assert rows["timestamp"].tolist() == (positions * 100 // 256).tolist()
    assert rows["t0"] == pytest.approx(-(positions % 256) * 100 / 256)
    assert bench.counters == dict.fromkeys(COUNTERS, 0)
    assert len(run["temperature"]) >= 1
    assert run["temperature"].read()["value"][0] == 45.5


def test_wrong_markers_cost_their_records_and_no_others(bench: Bench, pulses: np.ndarray) -> None:
    run = bench.record("garble_every=100")
    rows = run["ch1"].read()
    total = len(run["ch1"]) + bench.counters["bad_markers"]
    stamps = positions_of(total) * 100 // 256
    numbers = np.searchsorted(stamps, rows["timestamp"])
    assert (stamps[numbers] == rows["timestamp"]).all()  # no record has a wrong time
    assert (rows["waveform"] == pulses[numbers % POOL]).all()
    left_out = np.setdiff1d(np.arange(total), numbers)
    assert len(left_out) == bench.counters["bad_markers"]
    garbled = np.arange(99, total, 100)
    assert np.isin(left_out, garbled).all()
    # A wrong index that ends a fetch is seen behind it: its record, which has a right time, was taken then.
    has_wrong_index = garbled // 100 % 3 == 1
    assert np.isin(garbled[~has_wrong_index], left_out).all()
    assert np.isin(garbled[has_wrong_index], left_out).any()
    assert bench.counters["missing_records"] == 0


def test_records_that_the_card_leaves_out_are_counted(bench: Bench) -> None:
    run = bench.record("skip_every=100")
    assert bench.counters["missing_records"] == (len(run["ch1"]) - 1) // 100
    assert bench.counters["bad_markers"] == 0


def test_index_and_position_begin_again(bench: Bench) -> None:
    first = 2**64 - 300 * (10**10 * 256 // RATE)
    run = bench.record(f"first_index=0xfffff0, first_position={first:#x}")
    stamps = run["ch1"].read(["timestamp"])["timestamp"]
    assert set(np.diff(stamps.astype(np.uint64)).tolist()) <= {PERIOD_PS + step for step in range(-100, 101)}
    assert bench.counters == dict.fromkeys(COUNTERS, 0)
    assert int(stamps[0]) == first * 100 // 256


def test_the_dead_time_of_overflows_is_the_cards(bench: Bench, tmp_path: Path) -> None:
    options = f"overflow_every=1000, abort_ms=150, truth={tmp_path / 'truth'}"
    run = bench.record(options, rows=3500)
    stamps = run["ch1"].read(["timestamp"])["timestamp"].astype(np.int64)
    assert (np.diff(stamps) > 0).all()
    lines = [line.split() for line in (tmp_path / "truth").read_text().splitlines()]
    times = [(what, int(time)) for what, time in lines]
    truths = [
        after - before for (was, before), (what, after) in itertools.pairwise(times) if (was, what) == ("last", "first")
    ]
    gaps = [int(stamps[number] - stamps[number - 1]) // 1000 for number in range(1000, len(stamps), 1000)]
    assert len(gaps) == 3
    period_ns = PERIOD_PS // 1000
    for gap, truth in zip(gaps, truths, strict=False):
        assert truth > 150_000_000
        assert gap == pytest.approx(truth, abs=max(0.01 * truth, period_ns))
    told = [event for event in bench.told if event["event"] == "overflow"]
    assert len(told) >= 3
    assert told[0]["text"] == "the memory of the card was full"
    assert bench.counters["undrained_records"] == 0


def test_what_cannot_be_drained_is_counted(bench: Bench) -> None:
    """The markers of some records are read before the card says that its memory was full, and their samples are not."""
    run = bench.record("overflow_every=1000, no_drain=1, memory=1000000000", rows=3500)
    overflows = sum(event["event"] == "overflow" for event in bench.told)
    assert overflows >= 3
    assert len(run["ch1"]) + bench.counters["undrained_records"] <= 1000 * (overflows + 1)
    stamps = run["ch1"].read(["timestamp"])["timestamp"].astype(np.int64)
    assert (np.diff(stamps) > 0).all()


def test_overflows_while_files_change_lose_no_record(driver: str, tmp_path: Path) -> None:
    options = [f"library={driver}", "resource=PXI0::0::0::INSTR", f"samples={SAMPLES}"]
    options.append(f"driver_options=overflow_every=500, rate=5000, truth={tmp_path / 'truth'}")
    words = [word for option in options for word in ("--setting", option)]
    report = record(
        tmp_path / "run.h5", "--source", "acqiris", *words, "--max-file-time", "300ms", "--duration", "1500ms"
    )
    assert len(report["files"]) >= 3
    stamps = np.concatenate([tw.open(each["path"])["ch1"].read(["timestamp"])["timestamp"] for each in report["files"]])
    assert (np.diff(stamps.astype(np.int64)) > 0).all()
    overflows = (tmp_path / "truth").read_text().count("last")
    assert overflows >= 5
    channel = report["channels"]["ch1"]
    assert channel["overflows"] == overflows
    assert 500 * overflows <= len(stamps) == channel["rows"] <= 500 * (overflows + 1)
    assert channel["undrained_records"] == 0


def test_cards_that_fail_in_all_ways_go_on_in_one_file(
    driver: str, folder: Path, pulses: np.ndarray, tmp_path: Path
) -> None:
    faults = {
        "error": "error_at=200",
        "unplugged": "unplug_at=200, unplug_for=1",
        "crashing": "crash_at=200",
        "hanging": "hang_at=200",
    }
    tables = []
    for place, (name, fault) in enumerate(faults.items()):
        options = f"Simulate=false, rate=1000, pulses={folder / 'pulses'}, {fault}, once={tmp_path / name}"
        table = {"source": "acqiris", "name": name, "library": driver, "resource": f"PXI{place}::0::0::INSTR"}
        table |= {"samples": SAMPLES, "batch": 10, "driver_options": options, "deadline": "1s"}
        tables += ["--device", json.dumps(table)]
    report = record(tmp_path / "run.h5", *tables, "--duration", "8s", code=1)
    said = {
        "error": "AqMD3_StreamFetchDataInt32: I/O time-out (0xBFFA4215)",
        "unplugged": "AqMD3_StreamFetchDataInt32: I/O error (0xBFFA4214)",
        "crashing": "it was killed by SIGSEGV",
        "hanging": "it did not return from next within 1.1 s",
    }
    card_bench.check_all_came_back(tmp_path / "run.h5", said)
    run = tw.open(tmp_path / "run.h5")
    for name in faults:
        rows = run[f"{name}_ch1"].read(["timestamp", "waveform"])
        # Rows of two processes are in the order in which their pages came.
        order = np.argsort(rows["timestamp"])
        rows = {column: values[order] for column, values in rows.items()}
        stamps = rows["timestamp"].astype(np.int64)
        assert (np.diff(stamps) > 0).all()
        (again,) = np.flatnonzero(np.diff(stamps) > 2 * 10**12 // 1000) + 1
        assert 200 <= again < 220  # all records that the card had handed out
        dead_ns = report["channels"][f"{name}_ch1"]["dead_time_ns"]
        assert dead_ns == pytest.approx((stamps[again] - stamps[again - 1]) / 1000, abs=1)
        # The card counts its records from its start, and so do the pulses.
        for part in (rows["waveform"][:again], rows["waveform"][again:]):
            assert (part == pulses[np.arange(len(part)) % POOL]).all()


def test_without_a_licence_records_are_fetched_many_at_once(bench: Bench, pulses: np.ndarray) -> None:
    run = bench.record("licences=AVG", rows=200, batch=10)
    rows = run["ch1"].read()
    assert run.schema["ch1"]["waveform"].name == "int16"
    expected = pulses[np.arange(len(run["ch1"])) % 10 % POOL].astype(np.int64)
    stamps = rows["timestamp"].astype(np.int64)
    assert (np.diff(stamps) > 0).all()
    whole = len(run["ch1"]) // 10 * 10  # the last acquisition was aborted
    assert ((rows["waveform"].view(np.uint16)[:whole] >> 6) == expected[:whole]).all()
    assert rows["t0"] == pytest.approx(-25)
    assert np.diff(stamps)[:9] == pytest.approx(PERIOD_PS, abs=1000)


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        ("licences=AVG", {"mode": "streaming"}, "cannot stream (it has no licence CST, but 'AVG')"),
        ("simulate=1", {}, "is simulated by the driver"),
        ("", {"samples": 1000}, "a record of 1000 samples cannot be taken (it must be a multiple of 32): use 1024"),
        ("", {"samples": 1056}, "records of 1056 samples cannot be streamed"),
        ("", {"mode": "stream"}, "setting 'mode' is 'stream' (there are auto, streaming, records)"),
        ("", {"channels": 0}, "setting 'channels' is 0 (it is 1 to 8)"),
        ("", {"sample_rate": "fast"}, "setting 'sample_rate' of acqiris is 'fast', and must be a number"),
        ("", {"sample_rte": 1.0}, "acqiris has no setting 'sample_rte' (did you mean 'sample_rate'?)"),
        ("", {"library": "/none/libAqMD3.so"}, "the driver /none/libAqMD3.so cannot be loaded"),
        (
            "",
            {"test_pattern": True, "sample_order": "high-first", "signed": True},
            "it is smooth with sample_order = 'low-first' and signed = false",
        ),
    ],
)
def test_what_the_card_cannot_do_is_refused(bench: Bench, options: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(tw.UsageError, match=re.escape(said)):
        bench.open(options, **settings)


def test_a_driver_that_lacks_a_function_is_refused(bench: Bench, folder: Path) -> None:
    old = compiled(AQMD3, folder, "-DNO_STREAM")
    with pytest.raises(tw.UsageError, match="has no function AqMD3_StreamFetchDataInt32"):
        bench.open(library=str(old))


def test_a_card_that_is_open_or_not_there_is_lost(bench: Bench) -> None:
    first = bench.open(test_pattern=True)
    with pytest.raises(DeviceLost, match=re.escape("already initialized (0xBFFA0061)")):
        bench.open()
    first.close()
    bench.open().close()
    with pytest.raises(DeviceLost, match=re.escape("unknown resource (0xBFFA0060)")):
        bench.open(resource="USB0::1")


def test_slow_fetches_lose_nothing(bench: Bench, pulses: np.ndarray) -> None:
    run = bench.record("slow_every=10, slow_ms=20, memory=4000000000")
    rows = run["ch1"].read(["waveform"])["waveform"]
    assert (rows == pulses[np.arange(len(rows)) % POOL]).all()


def test_its_page_has_all_settings_and_counters(repository: Path) -> None:
    page = (repository / "docs/acqiris.md").read_text()
    library = _core.PlugInLibrary(str(built_in()["acqiris"]))
    names = [setting.name for setting in library.settings]
    assert len(names) == 20
    assert [name for name in (*names, *COUNTERS) if f"`{name}`" not in page] == []
    assert "**It was not tried on hardware.**" in page


def test_it_is_listed_and_its_settings_are_kept(driver: str, tmp_path: Path) -> None:
    listed = subprocess.run([THALWEG, "devices", "--json"], capture_output=True, text=True, check=True)
    assert "acqiris" in json.loads(listed.stdout)["built_in"]
    settings = [f"library={driver}", "resource=PXI0::0::0::INSTR", "channels=2", "temperature_period=0.05"]
    options = [word for setting in settings for word in ("--setting", setting)]
    report = record(tmp_path / "run.h5", "--source", "acqiris", *options, "--duration", "300ms")
    kept = json.loads(tw.open(tmp_path / "run.h5").metadata["source_settings"])
    assert (kept["model"], kept["serial_number"], kept["mode"]) == ("U5310A", "STANDIN0001", "streaming")
    assert report["channels"]["ch1"]["rows"] > 1000
    assert abs(report["channels"]["ch1"]["rows"] - report["channels"]["ch2"]["rows"]) < 1000
    assert report["channels"]["temperature"]["rows"] >= 3
