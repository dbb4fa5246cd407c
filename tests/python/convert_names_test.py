"""Names that an RNTuple cannot have are replaced on the way to .root, and restored on the way back."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import uproot

import thalweg as tw


def bliss(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["1.1/measurement/det"] = np.arange(5)
        file["1.1/measurement/a b"] = np.arange(5) * 2
        file["1.1/measurement/a_b"] = np.arange(5) * 3
        file["1_1/measurement/det"] = np.arange(4)
        file["panda/INENC1.VAL.Max"] = np.arange(3.0)
        file["panda/INENC1.VAL.Max"].attrs["unit"] = "mm"
        file["panda/plain"] = np.arange(3)
        file["panda/in.ner/x y"] = np.arange(3) + 7
        file["pairs"] = np.ones(6, [("a.b", "i4"), ("c", "f8")])
    return path


def test_dots_and_spaces_are_replaced_and_restored(tmp_path: Path, thalweg_command: Any) -> None:
    first, there, back = bliss(tmp_path / "run.h5"), tmp_path / "run.root", tmp_path / "back.h5"
    done = thalweg_command("convert", first, there)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "'1.1/measurement' is '1_1_/measurement'" in said
    assert "'a b' is 'a_b_'" in said
    with uproot.open(there) as file:
        assert file["1_1_/measurement"].arrays()["det"].to_list() == [0, 1, 2, 3, 4]
        assert file["1_1_/measurement"].arrays()["a_b_"].to_list() == [0, 2, 4, 6, 8]
        assert file["1_1_/measurement"].arrays()["a_b"].to_list() == [0, 3, 6, 9, 12]
        assert file["1_1/measurement"].arrays()["det"].to_list() == [0, 1, 2, 3]
        assert file["panda"].arrays()["INENC1_VAL_Max"].to_list() == [0.0, 1.0, 2.0]
    assert tw.open(there)["panda"]["INENC1_VAL_Max"].attrs["thalweg_name"] == "INENC1.VAL.Max"
    report = tw.convert(there, back)
    assert report.notes == ()
    before, after = tw.open(first), tw.open(back)
    assert after.schema.tables == before.schema.tables
    for name, table in before.items():
        assert after[name].read().to_awkward().to_list() == table.read().to_awkward().to_list()


def test_other_files_have_no_note(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": {"x": tw.list_({"y": tw.string})}}) as out:
        out.producer("t").append(x=[[{"y": "µ"}], []])
    assert tw.convert(tmp_path / "run.h5", tmp_path / "run.root").notes == ()
    assert tw.open(tmp_path / "run.root").schema == tw.open(tmp_path / "run.h5").schema


def test_two_tables_that_ask_for_one_name_keep_theirs(tmp_path: Path) -> None:
    attrs = {"t": {"thalweg_name": "same"}, "u": {"thalweg_name": "same"}}
    with tw.create(tmp_path / "run.root", tw.schema({"t": {"x": tw.int8}, "u": {"x": tw.int8}}, attrs=attrs)) as out:
        out.producer("t").append(x=1)
    tw.convert(tmp_path / "run.root", tmp_path / "back.h5")
    assert list(tw.open(tmp_path / "back.h5")) == ["t", "u"]
