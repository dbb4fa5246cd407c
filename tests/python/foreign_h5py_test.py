"""What only h5py can read of HDF5 files: beside the page map's columns in one table, in batches, and converted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hist
import numpy as np
import pytest
import uhi.io.hdf5
from hdf5_values import equal

import thalweg as tw

ROWS = 1000
HIT = np.dtype([("channel", "<u2"), ("name", h5py.string_dtype()), ("samples", h5py.vlen_dtype(np.int16))])


def hits(count: int = ROWS) -> np.ndarray[Any, Any]:
    made = np.empty(count, HIT)
    made["channel"] = np.arange(count)
    for row in range(count):
        made["name"][row] = "µ" * (row % 4)
        made["samples"][row] = np.arange(row % 5, dtype=np.int16)
    return made


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A group with columns of both, a compound that is a table, and what has no rows."""
    path = tmp_path / "mixed.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("daq")
        group["energy"] = np.arange(ROWS, dtype=np.float32)
        group["hit"] = hits()
        group["hit"].attrs["units"] = "adc"
        group.create_dataset("label", data=[f"row {row}" for row in range(ROWS)], dtype=h5py.string_dtype())
        group.create_dataset("wave", data=np.arange(ROWS * 64).reshape(ROWS, 64), chunks=(50, 64), compression="lzf")
        group["inner/deep/text"] = np.array([b"%d" % row for row in range(ROWS)])
        group["inner/state"] = np.arange(ROWS)
        group["version"] = 7
        group["short"] = np.array([b"a", b"b"])
        colours = h5py.enum_dtype({"red": 0, "blue": 2}, "i1")
        group.create_dataset("colour", (ROWS,), colours, fillvalue=2)
        file["events"] = hits(30)
    return path


def test_columns_of_both_are_one_table(mixed: Path) -> None:
    run = tw.open(mixed)
    assert run.problems == ()
    assert {name: len(table) for name, table in run.items()} == {"daq": ROWS, "daq_short": 2, "events": 30}
    table = run["daq"]
    assert list(table) == ["energy", "inner", "colour", "label", "wave", "hit"]
    assert str(table.schema["hit"]) == "{channel: uint16, name: string, samples: list(int16)} (adc)"
    assert list(run["events"]) == ["channel", "name", "samples"]
    assert table.attrs["version"] == 7
    assert list(table["colour"].attrs["enum_labels"]) == ["red", "blue"]
    assert list(table["colour"].attrs["enum_values"]) == [0, 2]
    with h5py.File(mixed) as file:
        for rows in [slice(0, ROWS), slice(0, 0), slice(37, 612), slice(ROWS - 1, ROWS), slice(5, 900, 7)]:
            read = table.read(rows=rows)
            for name in ("energy", "colour", "hit", "label", "wave"):
                assert equal(read.members[name], file["daq"][name][rows]), name
            assert equal(read["inner"].members["state"], file["daq/inner/state"][rows])
            assert equal(read["inner"]["deep"].members["text"], file["daq/inner/deep/text"][rows])
        assert equal(run["events"].read(), file["events"][()])
    only = table.read(["hit/name", "energy"])
    assert (list(only), list(only["hit"])) == (["energy", "hit"], ["name"])
    assert only["hit"]["name"][3] == "µµµ"


@pytest.mark.parametrize(("rows", "memory_bytes"), [(10_000, 64 << 20), (77, None), (10_000, 40_000), (1, 1)])
def test_batches_have_all_rows_and_keep_to_the_memory(mixed: Path, rows: int, memory_bytes: int | None) -> None:
    table = tw.open(mixed)["daq"]
    batches = list(table.batches(rows=rows, memory_bytes=memory_bytes))
    assert sum(each.row_count for each in batches) == ROWS
    if memory_bytes == 40_000:  # a row takes more than 512 bytes, its samples alone
        assert all(each.row_count <= 40_000 // 512 for each in batches)
    assert np.array_equal(np.concatenate([each["wave"] for each in batches]), table.read("wave")["wave"])
    assert [text for each in batches for text in each["label"]] == [f"row {row}" for row in range(ROWS)]
    assert [len(each) for batch in batches for each in batch["hit"]["samples"]] == [row % 5 for row in range(ROWS)]


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_they_are_converted(mixed: Path, tmp_path: Path, ending: str) -> None:
    report = tw.convert(mixed, tmp_path / f"own.{ending}")
    assert report.is_whole
    run, source = tw.open(tmp_path / f"own.{ending}"), tw.open(mixed)
    assert run.problems == ()
    for name in source:
        assert run[name].read().to_arrow().equals(source[name].read().to_arrow()), name
    assert run["daq"].attrs == source["daq"].attrs


def test_inspect_says_which_they_are(mixed: Path, thalweg_command: Any) -> None:
    done = thalweg_command("inspect", mixed, "--json")
    assert done.returncode == 0, done.stderr
    columns = json.loads(done.stdout)["tables"][0]["columns"]
    assert {name for name, column in columns.items() if column["codec"] == "h5py"} == {
        "colour", "hit", "label", "wave", "inner/deep/text"
    }  # fmt: skip
    assert columns["wave"]["raw_bytes"] == ROWS * 64 * 8
    assert columns["energy"]["codec"] == "none"
    assert "h5py" in thalweg_command("inspect", mixed).stdout


def test_without_h5py_they_are_named(mixed: Path) -> None:
    program = f"""
import sys
sys.modules["h5py"] = None
import thalweg as tw
run = tw.open({str(mixed)!r})
print(*list(run), *sorted(each.path for each in run.problems))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    missing = "/daq/colour /daq/hit /daq/inner/deep/text /daq/label /daq/short /daq/version /daq/wave /events"
    assert done.stdout.split() == ["daq", *missing.split()]


def test_what_is_no_text_is_bytes_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "bytes.h5"
    with h5py.File(path, "w") as file:
        file["t/latin"] = np.array([b"caf\xe9", b"", b"tea"])
        made = np.zeros(3, np.dtype([("word", "S4"), ("other", "S4")]))
        made["word"][1], made["other"][1] = b"\xff", b"fine"
        file["t/both"] = made
    run = tw.open(path)
    assert str(run["t"].schema["latin"]) == "list(uint8)"
    assert str(run["t"].schema["both"]) == "{word: list(uint8), other: string}"
    assert bytes(run["t"].read("latin")["latin"][0]) == b"caf\xe9"
    assert run.problems == ()
    assert [note.partition(" ")[0] for note in run.notes] == ["/t/both.word", "/t/latin"]


def test_members_under_another_name_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "names.h5"
    inner = np.dtype([("b.c", "i4"), ("d", "i4")])
    with h5py.File(path, "w") as file:
        file["t/genes"] = np.zeros(3, np.dtype([("CD4+/CD25", "S4"), ("CD34+", "S4"), ("deep", inner, (2,))]))
    run = tw.open(path)
    assert [name for name, _ in run["t/genes"].schema.fields] == ["CD4+_CD25", "CD34+", "deep"]
    told = {note.partition(",")[0] for note in run.notes}
    assert told == {
        "member 'CD4+/CD25' of /t/genes is shown as 'CD4+_CD25'",
        "member 'b.c' of /t/genes.deep is shown as 'b_c'",
    }
    assert run.problems == ()


def test_members_without_a_type_are_named_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "members.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(3)
        kind = np.dtype([("good", "i4"), ("to", h5py.ref_dtype), ("wide", np.longdouble), ("a.b", "f8")])
        file.create_dataset("t/c", (3,), kind)
        file.create_dataset("t/nothing", (3,), np.dtype([("to", h5py.ref_dtype)]))
    run = tw.open(path)
    assert str(run["t"].schema["c"]) == "{good: int32, a_b: float64}"
    assert {each.path for each in run.problems} == {"/t/c.to", "/t/c.wide", "/t/nothing"}


def test_one_unreadable_object_does_not_spoil_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(50)
        file["t/text"] = np.array([b"w"] * 50)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((10,))
        creation.set_filter(32_767, h5py.h5z.FLAG_OPTIONAL, ())  # which no library has: written without it
        made = h5py.h5d.create(file["t"].id, b"odd", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((50,)), creation)
        made.write_direct_chunk((0,), b"\1" * 40, 0)
    run = tw.open(path)
    assert run["t"].read("text")["text"][49] == "w"
    assert [each.path for each in run.problems] == ["/t/odd"]


def outside(folder: Path) -> tuple[Path, Path]:
    """A file elsewhere, and one beside."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for place in (elsewhere, folder):
        (place / "raw.bin").write_bytes(np.arange(10, dtype="<i8").tobytes())
        with h5py.File(place / "source.h5", "w") as file:
            file["x"] = np.arange(10)
    (folder / "linked.bin").symlink_to(elsewhere / "raw.bin")
    return elsewhere, folder


def virtual(file: h5py.File, name: str, source: str) -> None:
    layout = h5py.VirtualLayout((10,), np.int64)
    layout[:] = h5py.VirtualSource(source, "x", (10,))
    file.create_virtual_dataset(name, layout)


@pytest.mark.parametrize("place", ["{elsewhere}/raw.bin", "../{name}/elsewhere/raw.bin", "linked.bin", "gone.bin"])
def test_external_values_elsewhere_are_left_out(tmp_path: Path, place: str) -> None:
    elsewhere, _ = outside(tmp_path)
    path = tmp_path / "made.h5"
    named = place.format(elsewhere=elsewhere / ".." / ".." / tmp_path.name / "elsewhere", name=tmp_path.name)
    with h5py.File(path, "w") as file:
        file["t/beside"] = np.arange(10)
        file.create_dataset("t/x", (10,), "<i8", external=[(named, 0, 80)])
    home = tmp_path / "home"
    home.mkdir()
    path = path.rename(home / "made.h5")
    (home / "linked.bin").symlink_to(elsewhere / "raw.bin")
    run = tw.open(path)
    assert [each.path for each in run.problems] == ["/t/x"]
    assert list(run["t"]) == ["beside"]


def test_external_values_beside_the_file_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside(tmp_path)
    with h5py.File(tmp_path / "made.h5", "w") as file:
        file["t/beside"] = np.arange(10)
        file.create_dataset("t/x", (10,), "<i8", external=[("raw.bin", 0, 80)])
    monkeypatch.chdir("/")
    run = tw.open(tmp_path / "made.h5")
    assert run.problems == ()
    assert np.array_equal(run["t"].read("x")["x"], np.arange(10))


def test_virtual_datasets_show_what_lies_beside_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, _ = outside(tmp_path)
    with h5py.File(tmp_path / "chain.h5", "w") as file:
        virtual(file, "x", str(elsewhere / "source.h5"))
    with h5py.File(tmp_path / "made.h5", "w") as file:
        file["t/beside"] = np.arange(10)
        virtual(file, "t/good", "source.h5")
        virtual(file, "t/chained", "chain.h5")
        virtual(file, "t/gone", "nowhere.h5")
    (tmp_path / "home").mkdir()
    for name in ("made.h5", "chain.h5", "source.h5"):
        (tmp_path / name).rename(tmp_path / "home" / name)
    with h5py.File(tmp_path / "nowhere.h5", "w") as file:
        file["x"] = np.arange(10)
    monkeypatch.chdir(tmp_path)  # where HDF5 would look, too
    run = tw.open(tmp_path / "home" / "made.h5")
    assert list(run["t"]) == ["beside", "good"]
    assert np.array_equal(run["t"].read("good")["good"], np.arange(10))
    assert [each.path for each in run.problems] == ["/t/chained", "/t/gone"]


def test_external_links_are_not_followed_on_any_way(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["g/text"] = np.array([b"secret"])
    with h5py.File(tmp_path / "made.h5", "w") as file:
        file["t/x"] = np.arange(3)
        file["out"] = h5py.ExternalLink("other.h5", "/g")
        file["t/straight"] = h5py.ExternalLink("other.h5", "/g/text")
        file["t/round"] = h5py.SoftLink("/out/text")
    run = tw.open(tmp_path / "made.h5")
    assert [len(table.columns) for table in run.values()] == [1]
    assert {each.path for each in run.problems} == {"/out", "/t/straight", "/t/round"}


def test_attributes_that_the_page_map_leaves_out_are_read(tmp_path: Path) -> None:
    path = tmp_path / "made.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(3)
        file["t/x"].attrs["nothing"] = h5py.Empty("f4")
        file["t"].attrs["title"] = h5py.Empty("S1")  # the empty text of PyTables
        file["t/when"] = np.array([1, 2, 3], "<M8[us]").astype(h5py.opaque_dtype("<M8[us]"))
    run = tw.open(path)
    assert run.problems == ()
    assert run["t"].attrs["title"] == ""
    assert run["t"]["x"].attrs["nothing"].shape == (0,)
    assert run["t"]["when"].attrs["units"] == "us"
    assert run["t"]["when"].attrs["numpy_dtype"] == "<M8[us]"


def test_references_of_dimension_scales_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "scales.h5"
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(5.0)
        file["values"] = np.arange(5)
        file["time"].make_scale("time")
        file["values"].dims[0].attach_scale(file["time"])
    run = tw.open(path)
    assert run.problems == ()
    assert run["scales"]["time"].attrs["NAME"] == "time"


def test_axes_of_a_histogram_of_uhi_are_named_by_an_attribute(tmp_path: Path) -> None:
    path = tmp_path / "histogram.h5"
    with h5py.File(path, "w") as file:
        made = hist.Hist(hist.axis.StrCategory(["a", "b"], name="which"), hist.axis.Regular(4, 0, 1))
        uhi.io.hdf5.write(file.create_group("inner/counts"), made)
        file["others"] = np.array([file["inner"].ref], h5py.ref_dtype)
    run = tw.open(path)
    assert [each.path for each in run.problems] == ["/others"]  # any other references are still left out
    axes = run.group_attrs["inner/counts"]["axes"]
    assert list(axes) == [f"/inner/counts/ref_axes/axis_{number}" for number in range(2)]


def test_a_file_that_is_being_written_is_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "swmr.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("t/x", (10,), "i4", maxshape=(None,), chunks=(10,))
        texts = file.create_dataset("t/text", (10,), "S3", maxshape=(None,), chunks=(10,))
        texts[:] = b"abc"
        file.swmr_mode = True
        file.flush()
        program = f"""
import thalweg as tw
run = tw.open({str(path)!r})
print(*run["t"].read("text")["text"])
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["abc"] * 10, done.stderr


def test_the_table_of_the_root_is_no_group_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["top"] = np.arange(3)
        file["run/x"] = np.array([b"a", b"b", b"c"])
    run = tw.open(path)
    assert {name: list(table) for name, table in run.items()} == {"run": ["top"], "run_x": ["x"]}
    assert run.problems == ()


@pytest.mark.parametrize("bad", [(b"\xff", b"fine"), (b"\xc3", b"\xa9")])
def test_what_is_no_text_behind_the_strings_that_were_tried_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: tuple[bytes, bytes]
) -> None:
    monkeypatch.setattr("thalweg._others.hdf5_column._TRIED_STRINGS", 20)
    path = tmp_path / "late.h5"
    with h5py.File(path, "w") as file:
        file["t/x"] = np.arange(100)
        file["t/text"] = np.array([b"good"] * 50 + list(bad) + [b"good"] * 48)
    table = tw.open(path)["t"]
    assert table.read("text", rows=slice(0, 50))["text"][49] == "good"
    with pytest.raises(tw.DataError, match=r"rows 40 to 60 of /t/text cannot be read by h5py.*string 10 of these"):
        table.read("text", rows=slice(40, 60))
    with pytest.raises(tw.DataError, match="/t/text"):
        tw.convert(path, tmp_path / "own.h5")


def test_h5py_opens_nothing_where_none_of_its_columns_is_wanted(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged metadata can crash it, and the page map needs none of them."""
    table = tw.open(mixed)["daq"]
    opened: list[Path] = []
    monkeypatch.setattr(h5py, "File", lambda path, *_, **__: opened.append(path))
    np.testing.assert_array_equal(table.read("energy")["energy"], np.arange(ROWS))
    batches = [rows["energy"] for rows in table.batches(iter(["energy"]), rows=300)]
    np.testing.assert_array_equal(np.concatenate(batches), np.arange(ROWS))
    assert opened == []


def test_inspect_shows_structs_that_only_h5py_reads(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["numbers/x"] = np.arange(5)
        for name in ("texts/a", "texts/inner/b", "texts/inner/deep/c"):
            file.create_dataset(name, data=["x", "yy", "zzz"], dtype=h5py.string_dtype())
    done = thalweg_command("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
    assert {name: table["rows"] for name, table in tables.items()} == {"numbers": 5, "texts": 3}
    assert set(tables["texts"]["columns"]) == {"a", "inner/b", "inner/deep/c"}
    assert thalweg_command("inspect", path).returncode == 0
