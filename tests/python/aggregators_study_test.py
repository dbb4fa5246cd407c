"""The study of aggregators: its program writes what it says, and its ratios and their errors are right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from tracing import MPI_COMPILER, MPI_RUN

REPOSITORY = Path(__file__).parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "studies"))

from aggregators.figures import pairs, speed_up  # noqa: E402
from aggregators.programs import HDF5, Cell, Programs, cores  # noqa: E402
from aggregators.variants import COLLECTIVE, PAPER, VARIANTS, name_of  # noqa: E402


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    if MPI_RUN is None or MPI_COMPILER is None or not HDF5[1].is_dir():
        pytest.skip("there is no parallel HDF5 over MPICH: `tools/system-packages bench` installs it")
    folder = tmp_path_factory.mktemp("study")
    made = Programs(1, 1, 1, folder, folder)
    made.build()
    return made


@pytest.mark.parametrize("variant", ["all", "split"])
@pytest.mark.parametrize(("transfer", "block"), [("independent", 0), ("collective", 0), ("collective", 4096)])
def test_the_program_writes_all_data_of_all_writers(
    programs: Programs, tmp_path: Path, variant: str, transfer: str, block: int
) -> None:
    cell = Cell(variant, 4, 8192, (("cb_config_list", "*:1"),), transfer, block)
    command = programs._command(cell, tmp_path / "x.h5", 2)
    environment = {**os.environ, **programs._environment(cell)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    rows = np.array(json.loads(done.stdout))
    assert rows.shape == (2, 4, 5)
    assert (rows[:, 2:, 0] > 0).all()
    assert (rows[:, 2:, 1:].sum(axis=2) <= rows[:, 2:, 0]).all()
    with h5py.File(tmp_path / "x.h5") as file:
        found = file["dataset"][:]
    # Every creator draws the same numbers, so both writers have the same data.
    size = block // 2 or 8192
    parts = found.reshape(-1, 2, size) if block else found.reshape(1, 2, size)
    assert (parts[:, 0] == parts[:, 1]).all()
    assert found.max() > 1000


def test_a_ratio_of_medians_and_both_of_its_errors() -> None:
    ratio, error, (low, high) = speed_up(np.array([2.0, 2, 2, 2]), np.array([1.0, 1, 1, 1]))
    assert (ratio, error, low, high) == (2, 0, 2, 2)
    random = np.random.default_rng(1)
    ratio, error, (low, high) = speed_up(random.normal(3, 0.3, 300), random.normal(1, 0.1, 300))
    assert ratio == pytest.approx(3, rel=0.03)
    assert error == pytest.approx(3 * np.hypot(0.1, 0.1) / np.sqrt(300), rel=0.15)
    assert low < ratio < high
    # The error of a median is larger than that of a mean, by a quarter where values are normal.
    assert 1.0 < (high - low) / 2 / 1.96 / error < 1.6


def test_cells_are_in_pairs_and_those_that_share_cores_are_flagged() -> None:
    for cells in (PAPER, COLLECTIVE):
        assert len(pairs(cells)) == len(cells) / 2
        assert all(both[0].variant == "all" and both[1].variant == "split" for both in pairs(cells).values())
    assert len({name_of(cell) for cell in PAPER}) == len(PAPER)
    assert {name_of(cell) for cell in PAPER} <= set(VARIANTS)
    assert Cell("all", cores() + 1, 1).is_flagged
    assert not Cell("all", cores(), 1).is_flagged
