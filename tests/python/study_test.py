"""`studies/layouts/run.py`: a tiny run measures all that it promises, goes on after an interruption, and reports."""

import csv
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw
from thalweg import layouts

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

from layouts import command, generate, page_cache  # noqa: E402
from layouts.figures import Found, event_layout, figures, mean_ratio  # noqa: E402
from layouts.machine import file_system  # noqa: E402
from layouts.products import MODEL, SELECTIONS  # noqa: E402
from layouts.settings import Settings, cases  # noqa: E402
from layouts.study import COLUMNS, KEYS, NUMBERS  # noqa: E402
from layouts.table import MeasurementTable  # noqa: E402

TINY = Settings(events=25, hits=6, wires=5, rois=3, samples=8, batch_events=10, spill_events=4, lengths="poisson")
SMALL = ("--events", 20, "--batch-events", 10, "--hits", 5, "--wires", 4, "--rounds", 1, "--data", "waveforms")
SMALL += ("--mode", "threads", "--producers", 1)


def run_study(*words: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(STUDIES / "layouts" / "run.py"), *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file_format", ["h5", "root"])
def test_a_tiny_run_measures_and_reports(file_format: str, tmp_path: Path) -> None:
    words = (*SMALL, "--format", file_format, "--layout", "aos_spill_all", "--out", tmp_path)
    done = run_study(*words)
    assert done.returncode == 0, done.stderr
    assert "codec: the default" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "waveforms.png").stat().st_size > 10_000
    assert list((tmp_path / "files").iterdir()) == []


def test_what_is_measured_stays_measured(tmp_path: Path) -> None:
    pairs = ("--layout", "element_per_group", "--layout", "event_per_group")
    words = (*SMALL, *pairs, "--out", tmp_path)
    done = run_study(*words, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert any("element / event" in each["figure"] for each in summary["figures"])
    with (tmp_path / "measurements.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["measured"] for row in rows) == {"write": 4, "read": 4 * 2 * len(SELECTIONS), "memory": 4}
    assert len({row["raw_bytes"] for row in rows if row["measured"] == "write"}) == 1
    assert all(float(row["seconds"]) > 0 for row in rows if row["measured"] != "memory")
    assert "aos_element_per_group" in (tmp_path / "report.md").read_text()

    before = (tmp_path / "measurements.csv").read_text()
    assert run_study(*words).returncode == 0
    assert (tmp_path / "measurements.csv").read_text() == before

    cut = before[: before.rindex("\n", 0, -1) + 9]  # in the last line
    (tmp_path / "measurements.csv").write_text(cut)
    assert run_study(*words).returncode == 0
    with (tmp_path / "measurements.csv").open() as file:
        again = [[row[key] for key in KEYS] for row in csv.DictReader(file)]
    assert {tuple(each) for each in again} == {tuple(row[key] for key in KEYS) for row in rows}

    other = run_study(*words, "--seed", 2)
    assert other.returncode == 2
    assert "--seed 1 (now it is 2)" in other.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--layout", "sideways"), "--layout sideways is part of no name"),
        (("--producers", "0"), "--producers"),
        (("--format", "txt"), "--format"),
    ],
)
def test_wrong_requests(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run_study(*words, "--out", tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run_study("--out", tmp_path / "file" / "inside")
    assert done.returncode == 1
    assert "inside cannot be written" in done.stderr


def test_the_help_shows_the_examples() -> None:
    shown = " ".join(run_study("--help").stdout.split())
    assert [example for example in command.EXAMPLES if example not in shown] == []


@pytest.mark.parametrize("kind", ["uniform", "waveforms"])
@pytest.mark.parametrize("lengths", ["fixed", "poisson"])
def test_the_data_fit_the_schema_and_come_from_the_seed_alone(kind: str, lengths: str) -> None:
    settings = replace(TINY, lengths=lengths)
    once, again = generate.make(settings, kind), generate.make(settings, kind)
    assert [batch.events for batch in once.batches] == [10, 10, 5]
    for one, other in zip(once.batches, again.batches, strict=True):
        for column, mine, theirs in zip(MODEL.columns, one.columns, other.columns, strict=True):
            assert np.array_equal(mine, theirs), column.path
    alone, _ = generate.make_batch(settings, kind, 20)
    assert all(np.array_equal(*pair) for pair in zip(alone.columns, once.batches[2].columns, strict=True))
    different, _ = generate.make_batch(replace(settings, seed=2), kind, 20)
    assert not all(np.array_equal(*pair) for pair in zip(different.columns, alone.columns, strict=True))
    assert once.raw_bytes["everything"] > sum(once.raw_bytes[name] for name in list(SELECTIONS)[1:])


def test_a_hit_of_a_waveform_is_what_its_region_shows(tmp_path: Path) -> None:
    settings = replace(TINY, lengths="fixed", samples=12)
    batch, _ = generate.make_batch(settings, "waveforms", 0)
    plan = layouts.plan(MODEL, layouts.Layout("event", "all"))
    with tw.create(tmp_path / "run.h5", plan.schema, metadata=plan.metadata()) as out, plan.writer(out) as writer:
        writer.append(batch, 0)
    event = tw.layouts.read(tw.open(tmp_path / "run.h5")).to_awkward()[0].to_list()
    regions = {
        (wire["fWire_Channel"], roi["offset"]): roi["data"] for wire in event["wires"] for roi in wire["fSignalROI"]
    }
    for hit in event["hits"]:
        data = regions[hit["fChannel"], hit["fStartTick"]]
        assert hit["EventID"] == 0
        assert max(data) == pytest.approx(hit["fPeakAmplitude"], rel=0.15, abs=3)
        assert sum(data) == pytest.approx(hit["fROISummedADC"], rel=1e-5)


def test_a_file_leaves_the_page_cache(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1_000_000)

    share = page_cache.drop(path)
    assert share == (1.0 if file_system(tmp_path) == "tmpfs" else 0.0)


def test_ratios_are_of_one_round() -> None:
    pairs = [({1: 2.0, 2: 9.0, 3: 1.0}, {1: 1.0, 2: 3.0}), ({1: 4.0, 2: 1.0}, {1: 1.0, 2: 1.0})]
    spread = mean_ratio(pairs)
    assert spread is not None
    assert spread.values == (3.0, 2.0)
    assert mean_ratio([]) is None
    assert event_layout("soa_top_object_per_group") == "soa_event_per_group"


def test_figures_find_the_worst_pair() -> None:
    seconds = {"aos_event_all": 1.0, "aos_event_per_group": 1.0, "aos_element_per_group": 1.4}
    seconds |= {"soa_event_per_group": 1.0, "soa_element_per_group": 1.8}
    rows = [
        {"round": 1.0, "measured": "write", "data": "uniform", "layout": name, "mode": "threads", "producers": 1.0}
        | {"seconds": value}
        for name, value in seconds.items()
    ]
    slowest = figures(Found(rows))[0]
    assert (slowest.spread.median, slowest.verdict) == (1.8, "**not met**")
    assert "soa_element_per_group" in slowest.name


def test_every_case_is_in_every_round() -> None:
    assert len(cases(Settings())) == 2 * 20 * 2 * 2


def test_a_line_that_was_cut_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "measurements.csv"
    table = MeasurementTable(path, COLUMNS, NUMBERS)
    table.append(
        [{"round": 1, "measured": "write", "seconds": 0.25}, {"round": 2, "measured": "write", "seconds": 0.5}]
    )
    path.write_text(path.read_text()[:-8])
    assert MeasurementTable(path, COLUMNS, NUMBERS).rows == [{"round": 1.0, "measured": "write", "seconds": 0.25}]
