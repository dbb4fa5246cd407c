"""`thalweg tdpac` on runs of the emulated digitizer: all coincidences, and the truth that the run's metadata has."""

import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import hist
import numpy as np
import pytest
import uhi.io.hdf5
from matplotlib.image import imread
from recording import THALWEG, metadata, record, wait_for

import thalweg as tw
from thalweg import tdpac
from thalweg._recording.options import RecordOptions
from thalweg._recording.source import open_source, settings

PHYSICS = """
half-angle = 15
coincidence-fraction = 0.6
background-fraction = 0.05
[[site]]
omega0 = 0.8
eta = 0.3
delta = 0.02
[[detector]]
[[detector]]
delay = 110
efficiency = 0.9
[[detector]]
delay = -230
gain = 1.05
[[detector]]
time-resolution = 180
[[detector]]
[[detector]]
delay = 350
"""
CONFIG = """
isotope = "181Hf"
places = "axes"
half-angle = 15
range = [-150, 150]
scale = [1, 1, 0.9523809, 1, 1, 1]
[[site]]
omega0 = 0.78
eta = 0.2
delta = 0.01
"""
LIST = ("--waveforms", "none", "--isotope", "181Hf")


@pytest.fixture(scope="module")
def physics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("physics") / "physics.toml"
    path.write_text(PHYSICS)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, physics: Path) -> Path:
    path = tmp_path_factory.mktemp("tdpac") / "run.h5"
    record(path, *LIST, "--physics", physics, "--records", 250_000, "--seed", 11)
    return path


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "tdpac.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def done(run: Path, config: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command says and writes."""
    folder = tmp_path_factory.mktemp("done")
    out = {name: folder / name for name in ("spectra.h5", "ratio.png", "ratio.pdf", "spectra.csv")}
    words = [THALWEG, "tdpac", str(run), "--config", str(config), "--out", str(out["spectra.h5"]), "--json"]
    words += ["--plot", str(out["ratio.png"]), "--csv", str(out["spectra.csv"])]
    answer = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 0, answer.stderr
    return {"json": json.loads(answer.stdout), "said": answer.stderr, **out}


def truth_of(run: Path) -> dict[str, Any]:
    settings = json.loads(metadata(run)["source_settings"])
    return dict(json.loads(settings["physics"]))


def brute_force(run: Path, config: tdpac.TdpacConfig, rows: int, detectors: tuple[str, ...]) -> np.ndarray:
    """All pairs of starts and stops, by NumPy alone."""
    opened = tw.open(run)
    hits = [opened[name].read(["timestamp", "energy"], rows=slice(0, rows)) for name in detectors]
    times = [each["timestamp"].astype(np.int64) for each in hits]
    scales = config.scale or (1.0,) * len(detectors)
    bins = round((config.range_ns[1] - config.range_ns[0]) * 1000 / config.bin_ps)
    found = np.zeros((len(detectors), len(detectors), bins), np.int64)
    for i, (first, of_first) in enumerate(zip(times, hits, strict=True)):
        low, high = (each / scales[i] for each in config.start)
        starts = first[(of_first["energy"] >= low) & (of_first["energy"] < high)]
        for j, (second, of_second) in enumerate(zip(times, hits, strict=True)):
            low, high = (each / scales[j] for each in config.stop)
            stops = second[(of_second["energy"] >= low) & (of_second["energy"] < high)]
            since = (stops[np.newaxis, :] - starts[:, np.newaxis]).ravel() - round(config.range_ns[0] * 1000)
            since = since[(since >= 0) & (since < bins * config.bin_ps)]
            found[i, j] = np.bincount(since // config.bin_ps, minlength=bins)
    return found


def test_all_pairs_are_counted_as_numpy_counts_them(physics: Path, tmp_path: Path) -> None:
    rows = 4000
    config = tdpac.parse_config(CONFIG)
    for name in ("small.h5", "small.root"):
        record(tmp_path / name, *LIST, "--physics", physics, "--records", rows, "--seed", 3)
        spectra = tdpac.count(str(tmp_path / name), config)
        assert spectra.tables == tuple(f"ch{number}" for number in range(6))
        expected = brute_force(tmp_path / name, config, rows, spectra.tables)
        assert expected.sum() > 500
        np.testing.assert_array_equal(spectra.counts, expected)
        assert spectra.facts["coincidences"] == expected.sum()
        assert spectra.facts["hits"] == 6 * rows
        assert spectra.facts["late"] == 0


def test_a_run_of_several_files_has_the_coincidences_of_one(physics: Path, tmp_path: Path) -> None:
    options = (*LIST, "--physics", physics, "--records", 30_000, "--seed", 4)
    record(tmp_path / "one.h5", *options)
    report = record(tmp_path / "many.h5", *options, "--max-file-size", "1MB", "--set", "extent_bytes=64KiB")
    assert len(report["files"]) > 1
    config = tdpac.parse_config(CONFIG)
    one = tdpac.count(str(tmp_path / "one.h5"), config)
    many = tdpac.count(report["files"][0]["path"], config)
    np.testing.assert_array_equal(one.counts, many.counts)
    assert many.facts == one.facts


def test_an_open_run_is_counted_as_far_as_it_goes(tmp_path: Path) -> None:
    schema = {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32(unit="keV")}
    config = tdpac.parse_config('places = "line"\nrange = [-10, 20]\nbin = 1\n')
    with tw.create(tmp_path / "open.h5", {"a": schema, "b": schema}) as out:
        with out.producer("a") as first, out.producer("b") as second:
            first.append(timestamp=np.array([100, 200], np.uint64), energy=np.array([133, 50], np.float32))
            second.append(timestamp=np.array([107, 112], np.uint64), energy=np.array([482, 482], np.float32))
        wait_for(lambda: all(len(table) == 2 for table in tw.open(tmp_path / "open.h5").values()))
        spectra = tdpac.count(str(tmp_path / "open.h5"), config)
    assert np.argwhere(spectra.counts).tolist() == [[0, 1, 17], [0, 1, 22]]


def test_the_truth_in_the_metadata_comes_back(run: Path, done: dict[str, Any]) -> None:
    truth, found = truth_of(run), done["json"]
    assert found["true_coincidences"] > 50_000
    fit, site = found["fit"], truth["site"][0]
    assert fit["converged"]
    for name, value in {**{name: site[name] for name in ("omega0", "eta", "delta")}, "A22": truth["A22"]}.items():
        assert abs(fit["values"][name] - value) < 3 * fit["errors"][name], name
    half_life = found["half_life"]
    assert abs(half_life["values"]["half_life"] - 10.8) < 3 * half_life["errors"]["half_life"]
    clock = found["time_zero"]
    delays = [each.get("delay_ps", 0.0) for each in truth["detector"]]
    for number in range(1, 6):
        late = found["delays_ps"][number] + clock["values"][f"delay_{number}"]
        assert abs(late - delays[number]) < 3.5 * clock["errors"][f"delay_{number}"]
    assert abs(clock["values"]["time_zero"]) < 4 * clock["errors"]["time_zero"]
    # Five detectors of 300 / sqrt(2) ps, and one of 180 ps.
    mean = np.sqrt((20 * 300**2 + 10 * (300**2 / 2 + 180**2)) / 30)
    assert clock["values"]["resolution"] == pytest.approx(mean, rel=0.05)


def test_the_file_has_the_histogram_of_uhi_and_nxdata(done: dict[str, Any]) -> None:
    with h5py.File(done["spectra.h5"]) as file:
        read = hist.Hist(uhi.io.hdf5.read(file["coincidences"]))
        assert read.axes.name == ("start", "stop", "time")
        ratio = file["tdpac/ratio"]
        assert ratio.attrs["NX_class"] == "NXdata"
        assert ratio[ratio.attrs["signal"]].shape == ratio[ratio.attrs["axes"]].shape
        assert file["tdpac/fit/omega0"][()] == done["json"]["fit"]["values"]["omega0"]
    loaded = tdpac.Spectra.load(str(done["spectra.h5"]))
    np.testing.assert_array_equal(loaded.counts, read.values())
    assert loaded.tables == ("ch0", "ch1", "ch2", "ch3", "ch4", "ch5")
    assert loaded.counts.sum() == loaded.facts["coincidences"] == done["json"]["counts"]["coincidences"]
    assert list(loaded.delays_ps) == done["json"]["delays_ps"]
    again = tdpac.analyse_spectra(loaded, tdpac.parse_config(CONFIG))
    assert again.fit is not None
    assert again.fit.values == done["json"]["fit"]["values"]


def test_inspect_shows_the_file(done: dict[str, Any]) -> None:
    words = [THALWEG, "inspect", "--json", str(done["spectra.h5"])]
    answer = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert "coincidences" in answer.stdout


def test_columns_and_pictures_are_written(done: dict[str, Any]) -> None:
    header = done["spectra.csv"].read_text().splitlines()[0].split(",")
    assert header[:4] == ["time_ns", "R", "R_error", "R_fit"]
    assert len(header) == 4 + 30
    values = np.genfromtxt(done["spectra.csv"], delimiter=",", names=True)
    assert len(values) == 3000
    picture = imread(done["ratio.png"])
    assert picture.shape[0] > 800
    assert np.ptp(picture[:400, :, 0]) > 0.5


def test_wrong_requests_name_the_table_and_column(run: Path, tmp_path: Path) -> None:
    for text, said in (
        ('tables = ["ch0", "ch9"]', "table 'ch9' does not exist"),
        ('energy = "charge"', "0 tables with the columns"),
        ('tables = ["ch0", "ch1"]\nenergy = "charge"', "has no column 'charge'"),
        ("scale = [1, 2]", "2 scales and 6 detectors"),
        ("delays = [1]", "1 delays and 6 detectors"),
    ):
        with pytest.raises(tw.UsageError, match=said):
            tdpac.analyse(str(run), tdpac.parse_config(text))
    for text, said in (
        ("isotope = 7", "there is no isotope"),
        ("isotop = 'x'", "did you mean 'isotope'"),
        ("start = [3, 2]", "the smaller one first"),
        ("range = [10, 20]", "does not begin below 0"),
        ("bin = 0", "from 0.001"),
        ("[fit]\nmethod = 'guess'", "there is no method"),
        ("[fit]\nfree = ['omega']", "did you mean 'omega0'"),
        ("= 3", "is not TOML"),
    ):
        with pytest.raises(tw.UsageError, match=said):
            tdpac.parse_config(text)
    with pytest.raises(tw.UsageError, match="cannot read"):
        tdpac.load_config(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spin = 1", "there is no 'spin'"),
        ("[[detector]]\ngain = 1", "describes 1 detectors"),
        ('places = "plane"', "places of 4 detectors"),
        ("[[site]]\nomega0 = 'x'", "give a number"),
        ("coincidence-fraction = 0.9", "W can be 1.364"),
        ("A22 = 3", "from -1 to 1"),
    ],
)
def test_wrong_physics_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "physics.toml").write_text(text)
    options = RecordOptions(physics=str(tmp_path / "physics.toml"))
    with pytest.raises(tw.UsageError, match=said):
        open_source(settings(options))


def test_physics_needs_an_isotope_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "physics.toml").write_text("")
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--physics", str(tmp_path / "physics.toml")]
    done = subprocess.run([*words, "--isotope", "none"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the isotope is 'none': choose 181Hf or 111In" in done.stderr
    assert not (tmp_path / "run.h5").exists()
    with pytest.raises(tw.UsageError, match="cannot read"):
        settings(RecordOptions(physics="missing.toml"))


def test_a_missing_package_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'iminuit' else find(name, *rest)\n"
    )
    words = [THALWEG, "tdpac", "run.h5", "--config", "tdpac.toml"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": str(tmp_path), "PATH": ""}
    )
    assert done.returncode == 2
    assert "iminuit is not installed): pip install 'thalweg[tdpac]'" in done.stderr
