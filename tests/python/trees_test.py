"""TTrees: read by uproot, and the same tables as others for programs that open or convert them."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import thalweg as tw
from thalweg._others import trees
from thalweg._others.tree_types import NoTypeError, strings_in

ROWS = 300
COLUMNS = {
    **{name: (np.arange(ROWS) * 37 % 251).astype(name) for name in ("bool", "int8", "uint16", "int32", "uint64")},
    "float32": np.arange(ROWS, dtype=np.float32) / 3,
    "float64": np.arange(ROWS) / 7,
    "array": np.arange(ROWS * 6, dtype=np.int16).reshape(ROWS, 2, 3),
    "jagged": ak.Array([[i / 2] * (i % 4) for i in range(ROWS)]),
    "text": ak.Array(["µ" * (i % 5) for i in range(ROWS)]),
}


@pytest.fixture
def tree_file(tmp_path: Path) -> Path:
    """What uproot can write, in two baskets of each branch; njagged is written beside the jagged one."""
    path = tmp_path / "trees.root"
    with uproot.recreate(path) as file:
        file.mktree("events", {name: ak.Array(values).type.content for name, values in COLUMNS.items()}, title="all")
        for part in (slice(0, 100), slice(100, ROWS)):
            file["events"].extend({name: values[part] for name, values in COLUMNS.items()})
        file.mktree("deep/more", {"x.y": np.dtype("int64")})
        file["deep/more"].extend({"x.y": np.arange(5)})
    return path


def assert_same(table: tw.Table, first: int = 0, last: int = ROWS) -> None:
    array = table.read(rows=slice(first, last)).to_awkward()
    for name, values in COLUMNS.items():
        assert ak.array_equal(array[name], ak.Array(values)[first:last], dtype_exact=True), name


def test_a_tree_is_a_table(tree_file: Path) -> None:
    run = tw.open(tree_file)
    assert list(run) == ["events", "deep/more"]
    assert run.problems == ()
    assert not run.is_open
    table = run["events"]
    assert len(table) == ROWS
    assert table.schema.description == "all"
    assert str(table.schema["array"]) == "int16[2, 3]"
    assert str(table.schema["jagged"]) == "list(float64)"
    assert table.schema["text"] == tw.string
    assert list(run["deep/more"].schema) == ["x_y"]
    for rows in [(0, ROWS), (0, 0), (99, 101), (ROWS - 1, ROWS)]:
        assert_same(table, *rows)
    assert list(table.read("jagged")) == ["jagged"]
    assert table.read("text")["text"].tolist() == COLUMNS["text"].to_list()
    with pytest.raises(tw.UsageError, match="no column 'missing'"):
        table.read("missing")
    with pytest.raises(tw.UsageError, match="no table 'missing'"):
        run["missing"]


def test_batches_of_a_tree(tree_file: Path) -> None:
    table = tw.open(tree_file)["events"]
    parts = [rows["float64"] for rows in table.batches("float64", rows=70)]
    assert [len(part) for part in parts] == [70, 70, 70, 70, 20]
    assert np.array_equal(np.concatenate(parts), COLUMNS["float64"])
    assert sum(rows.row_count for rows in table.batches(memory_bytes=1000)) == ROWS


def test_strings_without_a_byte_and_long_ones() -> None:
    """As ROOT writes those of C: of an empty one not even its length. uproot has wrong ones behind that."""
    texts = ["", "a", "", "x" * 254, "y" * 255, "z" * 1000, "", "µ"]
    short, long = (lambda size: bytes([size])), (lambda size: b"\xff" + size.to_bytes(4, "big"))
    entries = [b"", *((short if len(each) < 255 else long)(len(each)) + each for each in map(str.encode, texts[1:]))]
    entries[2] = entries[6] = b""
    offsets = np.cumsum([0, *map(len, entries)])
    assert strings_in(offsets, np.frombuffer(b"".join(entries), np.uint8)).decoded().tolist() == texts
    several = np.frombuffer(b"\x03abc\x02de", np.uint8)
    with pytest.raises(ValueError, match="several strings"):
        strings_in(np.array([0, len(several)]), several)
    assert strings_in(np.array([0]), np.empty(0, np.uint8)).decoded().tolist() == []
    assert strings_in(np.array([0, 0]), np.empty(0, np.uint8)).decoded().tolist() == [""]


@pytest.mark.parametrize("target", ["run.h5", "run.root"])
def test_a_tree_is_converted(target: str, tree_file: Path, tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("convert", tree_file, tmp_path / target)
    assert done.returncode == 0, done.stderr
    run = tw.open(tmp_path / target)
    assert_same(run["events"])
    assert run["deep/more"].read()["x_y"].tolist() == list(range(5))
    assert run["events"].schema == tw.open(tree_file)["events"].schema


def test_beside_an_rntuple(tree_file: Path) -> None:
    with uproot.update(tree_file) as file:
        file.mkrntuple("ntuple", {"x": np.arange(7)})
    run = tw.open(tree_file)
    assert set(run) == {"ntuple", "events", "deep/more"}
    assert run["ntuple"].read()["x"].tolist() == list(range(7))
    assert_same(run["events"])
    assert run.problems == ()


@pytest.mark.parametrize("has_rntuple", [False, True])
def test_inspect_shows_trees(has_rntuple: bool, tree_file: Path, thalweg_command) -> None:
    if has_rntuple:
        with uproot.update(tree_file) as file:
            file.mkrntuple("ntuple", {"x": np.arange(7)})
    done = thalweg_command("inspect", tree_file, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["problems"] == []
    rows = {table["name"]: table["rows"] for table in facts["tables"]}
    assert rows == {"events": ROWS, "deep/more": 5, **({"ntuple": 7} if has_rntuple else {})}
    columns = {table["name"]: table["columns"] for table in facts["tables"]}["events"]
    with uproot.open(tree_file) as file:
        assert {name: each["raw_bytes"] for name, each in columns.items()} == {
            name: file["events"][name].uncompressed_bytes for name in (*COLUMNS, "njagged")
        }
    shown = thalweg_command("inspect", tree_file)
    assert shown.returncode == 0, shown.stderr
    assert "events: 300 rows (all)" in shown.stdout
    assert "uproot" in shown.stdout


def test_verify_reads_trees(tree_file: Path, thalweg_command) -> None:
    found = tw.verify(tree_file)
    assert found.is_sound
    assert found.problems == ()
    assert len(found.read_by_uproot) == len(COLUMNS) + 2
    assert thalweg_command("verify", tree_file).returncode == 0
    with uproot.open(tree_file) as file:
        seek = file["events/float64"].member("fBasketSeek")[1]
    content = bytearray(tree_file.read_bytes())
    content[seek + 100 : seek + 300] = b"\xa5" * 200
    tree_file.write_bytes(content)
    damaged = tw.verify(tree_file)
    assert damaged.faults == 1
    assert "of branch 'float64' of TTree 'events' cannot be read" in damaged.messages[0]


def test_trees_that_uproot_cannot_open_are_named_with_the_reason(tree_file: Path, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("it is too new")

    monkeypatch.setattr(uproot, "open", fail)
    with pytest.raises(tw.DataError, match=r"events is left out \(it is a TTree, and uproot .* it is too new"):
        tw.open(tree_file)


WITHOUT_UPROOT = """
import sys
sys.modules["uproot"] = None
import thalweg as tw
try:
    print([str(each) for each in tw.open(sys.argv[1]).problems])
except tw.DataError as error:
    print(error)
"""


def test_without_uproot_trees_are_named(tree_file: Path) -> None:
    def said() -> str:
        words = [sys.executable, "-c", WITHOUT_UPROOT, str(tree_file)]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert "holds no table (events is left out (it is a TTree" in said()
    assert "deep/more is left out (it is a TTree" in said()
    assert "pip install 'thalweg[uproot]'" in said()
    with uproot.update(tree_file) as file:
        file.mkrntuple("ntuple", {"x": np.arange(7)})
    assert "deep/more" in said()
    assert "it is a TTree" in said()


@pytest.mark.parametrize("kind", [uproot.AsFloat16, uproot.AsDouble32])
def test_lists_of_arrays_of_packed_numbers_are_left_out(kind: Any) -> None:
    """uproot has 24 lists of 24 numbers for one list of 24 numbers, most of them from memory that it has not set."""
    packed = kind(0.0, 0.0, 16, to_dims=(24,))
    with pytest.raises(NoTypeError, match="uproot reads lists of arrays of Float16_t and Double32_t wrongly"):
        trees._found_type(SimpleNamespace(interpretation=uproot.AsJagged(packed), file=None))


def test_a_damaged_basket_is_named(tree_file: Path) -> None:
    with uproot.open(tree_file) as file:
        branch = file["events/float64"]
        seek = branch.member("fBasketSeek")[1]
    content = bytearray(tree_file.read_bytes())
    content[seek + 100 : seek + 300] = b"\xa5" * 200
    tree_file.write_bytes(content)
    table = tw.open(tree_file)["events"]
    assert table.read("float64", rows=slice(0, 100))["float64"].tolist() == COLUMNS["float64"][:100].tolist()
    with pytest.raises(tw.DataError, match="rows 0 to 300 of branch 'float64' of TTree 'events' cannot be read"):
        table.read("float64")


def test_a_damaged_rntuple_is_not_hidden_by_trees(tree_file: Path) -> None:
    with uproot.update(tree_file) as file:
        file.mkrntuple("ntuple", {"x": np.arange(7)})
    with uproot.open(tree_file) as file:
        seek = file["ntuple"].member("fSeekHeader")
    content = bytearray(tree_file.read_bytes())
    content[seek + 20] ^= 0xFF
    tree_file.write_bytes(content)
    with pytest.raises(tw.DataError, match="the header of RNTuple 'ntuple'"):
        tw.open(tree_file)


def test_real_events_of_atlas(real_data: Path, tmp_path: Path, thalweg_command) -> None:
    path = real_data / "events" / "PHYSLITE_example.root"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    run = tw.open(path)
    table = run["CollectionTree"]
    assert len(table) == 100
    array = table.read().to_awkward()
    assert len(array.fields) + len(run.problems) == len(leaves(path))
    assert len(array.fields) > 700
    with uproot.open(path) as file:
        for branch in leaves(path):
            name = branch.name.rstrip(".").replace(".", "_")
            if name in array.fields:
                expected = ak.without_parameters(file["CollectionTree"][branch.name].array())
                assert ak.array_equal(ak.without_parameters(array[name]), expected, equal_nan=True), name
    done = thalweg_command("convert", path, tmp_path / "run.root")
    assert done.returncode == 1
    assert "CollectionTree/" in done.stderr
    assert "it holds objects streamed by ROOT" in done.stderr
    assert thalweg_command("convert", path, tmp_path / "again.root", "--allow-missing").returncode == 0
    again = tw.open(tmp_path / "run.root")["CollectionTree"].read().to_awkward()
    assert ak.array_equal(again, array, equal_nan=True)


def leaves(path: Path) -> list:
    with uproot.open(path) as file:
        return [branch for branch in file["CollectionTree"].itervalues(recursive=True) if not branch.branches]


def test_objects_of_classes_are_not_tried(real_data: Path) -> None:
    """uproot took all memory there is for one of these."""
    path = real_data / "rntuple" / "uproot-physlite-rntuple_v1-0-0-0.root"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    run = tw.open(path)
    reasons = {each.path: each.why for each in run.problems}
    assert "it holds objects streamed by ROOT" in reasons["MetaData/_Generation_Parameters"]
    assert len(run["EventData"]) == 100  # an RNTuple
    assert len(run["MetaData"]) == 1


def test_a_branch_that_is_shorter_than_its_tree_is_named(tmp_path: Path) -> None:
    """ROOT writes such a branch if it was switched off for some events."""
    path = tmp_path / "short.root"
    values = np.arange(77, dtype=np.int32)
    with uproot.recreate(path, compression=None) as file:
        file.mktree("t", {"long": np.int32, "short": np.int32})
        file["t"].extend({"long": values, "short": values})
    stored = bytearray(path.read_bytes())
    title = stored.rfind(b"short/I")
    rows = stored.index(
        (77).to_bytes(8, "big"), title + 45
    )  # of the branch: the number behind its title is another one
    stored[rows : rows + 8] = (5).to_bytes(8, "big")
    path.write_bytes(stored)
    with uproot.open(path) as file:
        assert file["t"]["short"].num_entries == 5
    with tw.open(path) as run:
        assert run["t"].read()["long"].tolist() == values.tolist()
        assert list(run["t"].schema) == ["long"]
        assert [str(each) for each in run.problems] == ["t/short is left out (it has 5 rows, and the TTree has 77)"]
