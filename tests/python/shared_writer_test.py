"""The ways of `studies/shared_writer` give the same rows, as uproot reads them; what its model says, and its sample."""

import json
import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

from shared_writer import model, paper, sample  # noqa: E402
from shared_writer.material import RANGE, train  # noqa: E402
from shared_writer.ways import WAYS  # noqa: E402

RANGES = 11  # which no number of workers divides


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_writes_each_event_once(way: str, workers: int, tmp_path: Path) -> None:
    words = [str(STUDIES / "shared_writer" / "ways.py"), way, str(tmp_path), "--ranges", str(RANGES)]
    path = os.pathsep.join([str(STUDIES), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *words, "--workers", str(workers), "--processing", "1e-6"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["events_per_s"] > 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["target-lite.root", "target-phys.root"]
    for output in train():
        with uproot.open(tmp_path / f"target-{output.name}.root") as file:
            found = file["Events"].arrays(["event", "number7", "list3"])
        found = found[ak.argsort(found.event)]
        assert np.array_equal(ak.to_numpy(found.event), np.arange(RANGES * RANGE))
        parts = [output.columns(number) for number in range(RANGES)]
        at = 1 + output.numbers + 2 * 3
        assert np.array_equal(ak.to_numpy(found.number7), np.concatenate([part[8] for part in parts]))
        assert np.array_equal(ak.to_numpy(ak.num(found.list3)), np.concatenate([part[at] for part in parts]))
        assert np.array_equal(ak.to_numpy(ak.flatten(found.list3)), np.concatenate([part[at + 1] for part in parts]))


def test_the_model_has_the_numbers_of_the_paper() -> None:
    service, think, predicted = model.legacy()
    assert service == pytest.approx(0.149, abs=0.0005)
    assert think == pytest.approx(0.534, abs=0.001)
    assert [round(predicted[workers], 2) for workers in model.PAPER] == [4.90, 6.57, 6.70]
    start, each = model.start_that_fits()
    assert (round(start), round(each * 1e3)) == (183, 637)
    assert model.with_start(start, each)[8] == pytest.approx(11.49, abs=0.005)


def test_mean_value_analysis_is_exact() -> None:
    """One worker never waits; without processing the server is all there is; two of one kind by hand."""
    assert model.rate(1, 2.0, 3.0) == pytest.approx(1 / 5)
    assert model.rate(9, 2.0, 0.0) == pytest.approx(1 / 2)
    assert model.rate(2, 1.0, 1.0) == pytest.approx(0.8)
    assert [round(model.on_two_cores(ratio), 2) for ratio in model.RATIOS] == [1.6, 1.0, 1.0]


def test_cheap_outputs_are_few_columns() -> None:
    (cheap,) = train(cheap=True)
    assert len(cheap.columns(0)) == 11


def test_sampled_events_have_the_weight_of_their_file_and_none_repeats() -> None:
    if not sample.FILE.exists():
        pytest.skip(f"there is no {sample.FILE}")
    phys, lite = sample.sampled_train()
    first, second = lite.columns(0), lite.columns(1)
    numbers = sum(1 if ends is None else 2 for _, ends, _ in sample.sample())
    assert [len(first), len(phys.columns(0))] == [1 + numbers, 1 + sample.COPIES * numbers]
    assert numbers > 1000
    assert all(
        np.array_equal(a, b) for a, b in zip(first, lite.columns(0), strict=True)
    )  # whichever worker makes the range
    assert list(first[0]) == list(range(RANGE))
    floats = [(a, b) for a, b in zip(first, second, strict=True) if a.dtype.kind == "f" and len(a) > RANGE]
    assert len(floats) > 100
    others = sum(not np.array_equal(a, b) for a, b in floats)
    assert others > 0.8 * len(floats)  # some columns have one value in all events
    mean = sum(values.nbytes for _, _, values in sample.sample()) / 100  # of the sample's events
    assert sum(each.nbytes for each in first[1:] if each.dtype != np.uint64) / RANGE == pytest.approx(mean, rel=0.2)


def test_without_the_sample_outputs_are_generated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sample, "FILE", tmp_path / "none.root")
    phys, lite = sample.sampled_train()
    assert len(phys.columns(0)) == 1 + 3 * (60 + 2 * 670)
    assert len(lite.columns(0)) == 1 + 60 + 2 * 670


def test_every_cell_of_the_papers_table_stands_beside_ours() -> None:
    runs = {
        f"{way}, {count} workers": {"events_per_s": rate * count, "worker_most_pss_MiB": 100.0 + rate}
        for way, rate in (("legacy", 10), ("shared", 20), ("own", 30))
        for count in paper.WORKERS
    }
    lines = paper.table(runs).splitlines()
    assert lines[3] == "| the paper | 8 | 6.7 | 11.4 | +70% | 1.67 GB | 1.88 GB | +13% |"
    assert lines[-1] == "| `own` | 4 | 40 | 120 | +200% | 110 MiB | 130 MiB | +18% |"
    assert len(lines) == 2 + 3 + 2 * len(paper.WORKERS)
