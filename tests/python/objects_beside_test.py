"""Objects of ROOT files that are no tables, and trees that cannot be read as a whole, are named by every command."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
import xxhash

import thalweg as tw


@pytest.fixture(params=["rntuple", "tree"])
def beside(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "run.root"
    with uproot.recreate(path) as file:
        if request.param == "rntuple":
            file.mkrntuple("events", {"x": np.arange(5)})
        else:
            file.mktree("events", {"x": "i8"}).extend({"x": np.arange(5)})
        file["h"] = np.histogram([1, 2, 3.0])
        file["folder/note"] = "a text"
    return path


def test_objects_beside_tables_are_named(beside: Path, tmp_path: Path, thalweg_command: Any) -> None:
    run = tw.open(beside)
    assert {each.path: each.why for each in run.problems} == {
        "h": "it is a TH1D and no table",
        "folder/note": "it is a TObjString and no table",
    }
    done = thalweg_command("convert", beside, tmp_path / "copy.h5", "--json")
    assert done.returncode == 1, done.stderr
    assert {each["path"] for each in json.loads(done.stdout)["problems"]} == {"h", "folder/note"}
    assert f"{beside}: h is left out (it is a TH1D and no table)" in done.stderr
    assert tw.open(tmp_path / "copy.h5")["events"].read()["x"].tolist() == [0, 1, 2, 3, 4]
    assert thalweg_command("convert", beside, tmp_path / "more.h5", "--allow-missing").returncode == 0


def test_inspect_names_them(tmp_path: Path, thalweg_command: Any) -> None:
    with uproot.recreate(tmp_path / "run.root") as file:
        file.mkrntuple("events", {"x": np.arange(5)})
        file["h"] = np.histogram([1, 2, 3.0])
    done = thalweg_command("inspect", tmp_path / "run.root", "--json")
    assert done.returncode == 1
    assert [each["path"] for each in json.loads(done.stdout)["problems"]] == ["h"]


def test_our_own_files_have_none(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", {"t": {"x": tw.int32}}) as out, out.work_unit(1) as unit:
        unit["t"].append(x=1)
    assert tw.open(tmp_path / "run.root").problems == ()


def two_trees(path: Path) -> Path:
    with uproot.recreate(path, compression=None) as file:
        for name in ("good", "other"):
            file.mktree(name, {"x": "i8"}, title=f"title of {name}").extend({"x": np.arange(5)})
    return path


def test_a_tree_with_longer_branches_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows of a tree that was not saved at its end is too small."""
    path = two_trees(tmp_path / "run.root")
    rows = uproot.behaviors.TTree.TTree.num_entries
    fewer = property(lambda tree: 2 if tree.name == "other" else rows.fget(tree))
    monkeypatch.setattr(uproot.behaviors.TTree.TTree, "num_entries", fewer)
    run = tw.open(path)
    assert (len(run["good"]), len(run["other"])) == (5, 2)
    (problem,) = run.problems
    assert str(problem).startswith("the end of other is left out (the TTree has 2 rows, but branches with up to 5")


def test_a_tree_that_uproot_cannot_open_does_not_take_the_others_along(tmp_path: Path, thalweg_command: Any) -> None:
    path = two_trees(tmp_path / "run.root")
    with uproot.open(path) as file:
        key = file.key("other")
        place = key.data_cursor.index
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 24)
    with pytest.raises(Exception), uproot.open(path) as file:  # noqa: B017, PT011
        file["other"]
    run = tw.open(path)
    assert run["good"].read()["x"].tolist() == [0, 1, 2, 3, 4]
    (problem,) = run.problems
    assert problem.path == "other"
    assert problem.why.startswith("uproot cannot open this TTree (")
    done = thalweg_command("convert", path, tmp_path / "copy.h5")
    assert done.returncode == 1
    assert "other is left out" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_whose_trees_cannot_be_opened_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two_trees(tmp_path / "run.root")

    def refused(*_: object) -> None:
        raise ValueError("it is compressed in an old way")

    monkeypatch.setattr("thalweg._others.trees._leaves", refused)
    with pytest.raises(tw.DataError, match=r"good is left out .*compressed in an old way") as raised:
        tw.open(path)
    assert "pip install" not in str(raised.value)


def with_version(path: Path, name: str, version: tuple[int, int]) -> None:
    """Changes the version in the anchor of an RNTuple, and its checksum, as another version of the format has it."""
    with uproot.open(path) as file:
        key = file.key(name)
        at = key.fSeekKey + key.fKeylen
    content = bytearray(path.read_bytes())
    members = slice(at + 6, at + 70)  # in front of them: byte count and version of the class; behind them: the checksum
    assert content[members][:4] == struct.pack(">HH", 1, 0)
    content[at + 6 : at + 10] = struct.pack(">HH", *version)
    content[at + 70 : at + 78] = struct.pack(">Q", xxhash.xxh3_64_intdigest(bytes(content[members])))
    path.write_bytes(content)


@pytest.mark.parametrize("version", [(0, 2), (0, 3), (2, 0)])
def test_rntuples_of_other_versions_are_named(version: tuple[int, int], tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.root"
    for name in ("old", "new"):
        with uproot.update(path) if path.exists() else uproot.recreate(path) as file:
            file.mkrntuple(name, {"x": np.arange(5)})
    with_version(path, "old", version)
    run = tw.open(path)
    text = f"it is an RNTuple of version {version[0]}.{version[1]}."
    assert [each.path for each in run.problems] == ["old"]
    assert run.problems[0].why.startswith(text)
    assert run.problems[0].why.endswith(", and only 1.* is read: write it again with ROOT 6.34 or later")
    assert run["new"].read()["x"].tolist() == [0, 1, 2, 3, 4]
    assert thalweg_command("inspect", path).returncode == 1
    with_version_of_both = tmp_path / "both.root"
    with_version_of_both.write_bytes(path.read_bytes())
    with_version(with_version_of_both, "new", version)
    with pytest.raises(tw.DataError, match=f"holds no table .*{re.escape(text)}.*{re.escape(text)}"):
        tw.open(with_version_of_both)
