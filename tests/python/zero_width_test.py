"""Arrays of no values, of shape (n, 0): read from files of other programs, and left out aloud of what is written."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "empty.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(30)
        file["t/none"] = np.zeros((30, 0))
        file["t/s/none"] = np.zeros((30, 2, 0), "<f4")
        file["t/s/y"] = np.arange(30.0)
        file["alone/none"] = np.zeros((7, 0))
        file["alone/none"].attrs["units"] = "mV"
    return path


def test_they_are_read_with_their_shape(path: Path) -> None:
    run = tw.open(path)
    assert run.problems == ()
    assert str(run.schema["t"]["none"]) == "float64[0]"
    rows = run["t"].read()
    assert rows["none"].shape == (30, 0)
    assert rows["s"]["none"].shape == (30, 2, 0)
    assert rows["s"]["none"].dtype == np.float32
    assert run["alone"]["none"].attrs["units"] == "mV"
    assert run["t"].read("none", rows=[4, 2, 9])["none"].shape == (3, 0)
    assert [each["none"].shape for each in run["t"].batches(rows=20)] == [(20, 0), (10, 0)]
    assert len(run["alone"][2:5].read("none")["none"]) == 3


@pytest.mark.parametrize("library", ["ak", "np", "pd"])
def test_other_libraries_get_all_rows(path: Path, library: str) -> None:
    for name, count in (("t", 30), ("alone", 7)):
        arrays = tw.open(path)[name].arrays(library=library)
        assert len(arrays["none"] if library == "np" else arrays) == count


def test_arrow_gets_all_rows(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(tw.open(path)["t"].read())
    table.validate(full=True)
    assert table["none"].to_pylist() == [[]] * 30
    assert table["s"][0].as_py() == {"none": [[], []], "y": 0.0}


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_convert_leaves_them_out_aloud(path: Path, tmp_path: Path, ending: str) -> None:
    report = tw.convert(path, tmp_path / f"copy.{ending}")
    assert {each.path for each in report.problems} == {"/t/none", "/t/s/none", "/alone/none"}
    assert all("no values" in each.why for each in report.problems)
    copy = tw.open(tmp_path / f"copy.{ending}")
    assert list(copy) == ["t"]
    assert np.array_equal(copy["t"].read("s/y")["s"]["y"], np.arange(30.0))


def test_a_file_of_nothing_else_cannot_be_converted(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "empty.h5"
    with h5py.File(path, "w") as file:
        file["alone/none"] = np.zeros((7, 0))
    with pytest.raises(tw.UsageError, match=r"nothing that can be copied .*/alone/none is left out"):
        tw.convert(path, tmp_path / "copy.h5")
    assert not (tmp_path / "copy.h5").exists()
    done = thalweg_command("convert", str(path), str(tmp_path / "copy.h5"))
    assert done.returncode != 0
    assert "/alone/none" in done.stderr


def test_a_false_number_of_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(3)
        file.create_dataset("t/many", (1 << 62, 0), np.float64)
    run = tw.open(path)
    assert [each.path for each in run.problems] == ["/t/many"]
    assert list(run["t"]) == ["x"]


def test_create_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match="zero"):
        tw.create(tmp_path / "new.h5", tw.schema({"t": {"x": tw.array(tw.int8, 0)}}))


def test_a_file_without_a_table_cannot_be_converted(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["scalar"] = 1.0
    with pytest.raises(tw.UsageError, match=r"has nothing that can be copied \(it has no table\)"):
        tw.convert(tmp_path / "run.h5", tmp_path / "copy.root")
