"""The four ways of `studies/shared_writer` give the same rows, as uproot reads them; and what its model says."""

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

from shared_writer import model  # noqa: E402
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
