"""The judge of files of other programs finds what is right, and notices a value that is not."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5_values
import numpy as np
import pytest
import same_values
import uproot

import thalweg as tw


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "whole.nxs", "w") as file:
        file["entry/data"] = np.arange(5.0)
        file["entry/energy"] = 12.5
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["x"] = np.arange(5)
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    with uproot.recreate(tmp_path / "trees.root") as file:
        file.mktree("events", {"x": "i8"}).extend({"x": np.arange(5)})
        file.mkrntuple("ntuple", {"y": np.arange(7.0)})
    (tmp_path / "notes.txt").write_text("no file of ours")
    (tmp_path / "refused.root").write_bytes(b"root" + bytes(300))
    return tmp_path


def test_each_file_gets_a_verdict(folder: Path) -> None:
    paths = [str(Path(each).resolve()) for each in sys.path if "tests" in each]
    command = [sys.executable, Path(__file__).with_name("judge_files.py"), folder]
    done = subprocess.run(command, env={"PYTHONPATH": ":".join(paths)}, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        f"left out  {folder}/part.h5",
        f"refused   {folder}/refused.root",
        f"right     {folder}/trees.root",
        f"right     {folder}/whole.nxs",
        "4 files: 1 left out, 1 refused, 2 right",
    ]
    assert done.returncode == 0, done.stderr


def test_other_values_are_noticed(folder: Path) -> None:
    rows = tw.open(folder / "trees.root")["events"].read()
    with uproot.open(folder / "trees.root") as file:
        assert list(same_values.same_tree("events", file["events"], rows, set())) == []
        rows.members["x"][3] += 1
        (fault,) = same_values.same_tree("events", file["events"], rows, set())
        assert fault == "the branch events/x has other values than uproot reads"
        (fault,) = same_values.same_tree("events", file["events"], tw.open(folder / "whole.nxs")["entry"].read(), set())
        assert "neither shown nor named" in fault


def test_a_column_stands_for_one_dataset(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "same.h5", "w") as file:
        for name in ("a/x", "b/x", "n"):
            file[name] = np.arange(5)
        datasets = hdf5_values.datasets(file)
        assert there(datasets, [("/b_x", np.arange(5)), ("/n", np.arange(5)), ("/a_x", np.arange(5))]) == 3
        assert there(datasets, [("/b_x", np.arange(5)), ("/n", np.arange(5))]) == 2


def there(datasets: list[tuple[str, h5py.Dataset]], columns: list[tuple[str, Any]]) -> int:
    return sum(same_values.is_there(name, each, set(), columns, []) for name, each in datasets)
