"""Attributes of runs, groups, tables and columns: from files of others, through convert, and of our own."""

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import pytest
from recording import record

import thalweg as tw

VALUES: dict[str, Any] = {
    "number": 42,
    "negative": np.int8(-3),
    "large": np.uint64(2**64 - 1),
    "real": 0.1,
    "narrow": np.float32(0.1),
    "not a number": np.array([np.nan, np.inf, -np.inf]),
    "imaginary": np.complex64(1 - 2j),
    "yes": True,
    "text": "µs, \"quoted\"\n",
    "empty": "",
    "texts": ["a", "bé", ""],
    "table of texts": np.array([["a", "b"], ["c", "d"]], dtype=object),
    "array": np.arange(6, dtype=np.int16).reshape(2, 3),
    "flags": np.array([True, False]),
    "none of them": np.zeros((0, 3)),
    "slash/in name": 1,
}  # fmt: skip
SCHEMA = {"x": tw.float32, "hits": tw.list_({"t": tw.float64}), "name": tw.string}
ROW = {"x": [1.0], "hits": [[{"t": 2.0}]], "name": ["n"]}


def same(found: Any, given: Any) -> bool:
    """Value, type and shape."""
    expected = np.asarray(given)
    if expected.dtype.kind in "UO":
        return bool(np.array_equal(np.asarray(found, object), np.asarray(given, object)))
    found = np.asarray(found)
    return found.dtype == expected.dtype and np.array_equal(found, expected, equal_nan=expected.dtype.kind in "fc")


def assert_same(found: Any, given: dict[str, Any]) -> None:
    assert set(found) == set(given)
    for name, value in given.items():
        assert same(found[name], value), (name, found[name], value)


def foreign(path: Path) -> Path:
    """As h5py writes it: attributes of everything."""
    with h5py.File(path, "w") as file:
        file.attrs.update(VALUES)
        file.create_group("notes/empty").attrs["who"] = "none"
        table = file.create_group("detector/events")
        file["detector"].attrs["high voltage"] = 1200.5
        table.attrs.update(VALUES)
        table.attrs["description"] = "all of them"
        table["x"] = np.arange(10, dtype=np.float32)
        table["x"].attrs.update(VALUES)
        table["x"].attrs["units"] = "mm"
        table["waveform/values"] = np.zeros((10, 20), np.uint16)
        table["waveform"].attrs["sampled by"] = "card 3"
        table["waveform/values"].attrs["offset"] = np.array(3.5, ">f8")
        table["waveform/values"].attrs["text"] = np.bytes_("fixed")
        table["waveform/values"].attrs["half"] = np.float16(0.5)
    return path


def assert_foreign(run: tw.Run) -> None:
    assert_same(run.attrs, VALUES)
    assert run.group_attrs == {
        "detector": tw.Attributes({"high voltage": 1200.5}),
        "notes/empty": tw.Attributes({"who": "none"}),
    }
    table = run["detector/events"]
    assert_same(table.attrs, VALUES | {"description": "all of them"})
    assert_same(table["x"].attrs, VALUES | {"units": "mm"})
    assert_same(table["waveform"].attrs, {"sampled by": "card 3"})
    assert_same(table["waveform/values"].attrs, {"offset": 3.5, "text": "fixed", "half": np.float32(0.5)})


def test_attributes_of_a_foreign_file_come_along(tmp_path: Path) -> None:
    assert_foreign(tw.open(foreign(tmp_path / "foreign.h5")))


@pytest.mark.parametrize("ways", [["h5"], ["root"], ["root", "h5"], ["h5", "root"]])
def test_attributes_survive_convert(tmp_path: Path, ways: list[str]) -> None:
    source = foreign(tmp_path / "foreign.h5")
    for number, ending in enumerate(ways):
        target = tmp_path / f"{number}.{ending}"
        tw.convert(source, target)
        source = target
    assert_foreign(tw.open(source))
    if ways[-1] == "h5":
        with h5py.File(source) as file:
            assert_same(file.attrs, VALUES | {"datatype": "struct{detector}"})
            assert file["detector"].attrs["high voltage"] == 1200.5
            assert file["notes/empty"].attrs["who"] == "none"
            assert_same(
                file["detector/events/x"].attrs, VALUES | {"units": "mm", "datatype": "array<1>{real}"}
            )  # fmt: skip


def test_datasets_in_the_root_are_a_table_that_has_the_attributes_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.attrs["run"] = 7
        for name in ("x", "y"):  # one of them has the name of the file
            file[name] = np.arange(4.0)
            file[name].attrs["axis"] = name
    run = tw.open(path)
    assert_same(run.attrs, {"run": 7})
    assert_same(run["x"].attrs, {})
    assert [run["x"][name].attrs["axis"] for name in run["x"]] == ["x", "y"]


def test_columns_that_are_tables_of_their_own_have_theirs(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("g")
        group.attrs["of"] = "g"
        for name, rows in (("a", 3), ("b", 3), ("longer", 5)):
            group[name] = np.arange(rows)
            group[name].attrs["of"] = name
        file["apart/x"], file["apart/y"] = np.arange(3), np.arange(4)
        file["apart"].attrs["of"] = "apart"
        file["run_of/nothing"] = h5py.Empty("f8")
        file.create_group("run").attrs["of"] = "the group that is called like the file"
        file["top"] = np.arange(3)
    run = tw.open(path)
    for table in run.values():
        for name in table:
            if table.name.startswith("g"):
                assert_same(table[name].attrs, {"of": name})
    assert {name: dict(table.attrs) for name, table in run.items() if table.attrs} == {"g": {"of": "g"}}
    assert run.group_attrs["apart"] == tw.Attributes({"of": "apart"})
    carried = {str(attrs.get("of")) for attrs in run.group_attrs.values()} | {each.path for each in run.problems}
    carried.add(str(run.attrs.get("run@of")))
    assert {"the group that is called like the file", "the attributes of /run"} & carried
    tw.convert(path, tmp_path / "own.h5")
    assert tw.open(tmp_path / "own.h5").group_attrs == run.group_attrs


def test_inspect_shows_them(tmp_path: Path, thalweg_command) -> None:
    path = foreign(tmp_path / "foreign.h5")
    shown = thalweg_command("inspect", path)
    assert shown.returncode == 0, shown.stderr
    for line in ("  attribute number: 42", "  detector: attribute high voltage: 1200.5", "  attribute text: µs"):
        assert line in shown.stdout
    facts = json.loads(thalweg_command("inspect", path, "--json").stdout)
    assert facts["attributes"]["number"] == {"type": "int64", "value": 42}
    assert facts["groups"]["notes/empty"] == {"who": {"type": "string", "value": "none"}}
    assert facts["tables"][0]["attributes"]["narrow"]["type"] == "float32"


def test_attributes_are_replayed(tmp_path: Path) -> None:
    record(tmp_path / "run.h5", "--source", "replay", "--input", foreign(tmp_path / "foreign.h5"))
    assert_foreign(tw.open(tmp_path / "run.h5"))


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_attributes_are_written_as_they_are_given(tmp_path: Path, ending: str) -> None:
    attrs = {
        "events": VALUES | {"description": "of the beam"},
        "events/x": {"units": "keV", "calibration": [0.5, 1.0]},
        "events/hits": {"from": "the tracker"},
        "events/hits/t": {"clock": 40e6},
        "events/name": {"language": "de"},
        "beam/line": {"length": 12.5},
    }
    path = tmp_path / f"run.{ending}"
    fields = SCHEMA | {"y": tw.int32(unit="mm", attrs={"pitch": 0.05})}
    with tw.create(path, tw.schema({"events": fields}, attrs=attrs), attrs=VALUES) as out:
        with out.producer("events") as producer:
            producer.append(**ROW, y=[1])
        assert_same(tw.open(path).attrs, VALUES)  # also of a run that is still being written
    run = tw.open(path)
    assert_same(run.attrs, VALUES)
    table = run["events"]
    assert_same(table.attrs, attrs["events"])
    assert_same(table["x"].attrs, attrs["events/x"])
    assert table["x"].type.unit == "keV"
    assert_same(table["y"].attrs, {"units": "mm", "pitch": 0.05})
    assert_same(table["hits"].attrs, attrs["events/hits"])
    assert_same(table["hits/t"].attrs, attrs["events/hits/t"])
    assert_same(table["name"].attrs, attrs["events/name"])
    assert run.group_attrs == {"beam/line": tw.Attributes({"length": 12.5})}
    assert tw.verify(path).is_sound
    if ending == "h5":
        with h5py.File(path) as file:
            assert_same(dict(file["events"].attrs), attrs["events"] | {"datatype": "table{x,name,y}"})
            assert file["events/hits/flattened_data/t"].attrs["clock"] == 40e6
            assert file["beam/line"].attrs["length"] == 12.5
            assert file["events/x"].attrs["units"] == "keV"


def record_and_die(path: Path) -> None:
    schema = tw.schema({"events": SCHEMA}, attrs={"events": VALUES})
    out = tw.create(path, schema, attrs=VALUES, tuning={"flush_interval": 0.05})
    out.producer("events").append(**ROW)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_recover_writes_them_too(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    child = multiprocessing.get_context("spawn").Process(target=record_and_die, args=(path,))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    tw.recover(path)
    run = tw.open(path)
    assert_same(run.attrs, VALUES)
    assert_same(run["events"].attrs, VALUES)
    assert len(run["events"]) == 1


def test_a_run_is_resumed_whatever_its_attributes_are(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    tw.create(path, tw.schema({"events": SCHEMA}, attrs={"events": {"shift": 1}}), attrs={"run": 7}).abandon()
    with pytest.raises(tw.UsageError, match="leave attrs out"):
        tw.create(path, resume=True, attrs={"run": 8})
    tw.create(path, tw.schema({"events": SCHEMA}, attrs={"events": {"shift": 2}}), resume=True).close()
    assert_same(tw.open(path).attrs, {"run": 7})
    assert_same(tw.open(path)["events"].attrs, {"shift": 1})


def test_attributes_that_another_program_adds_to_our_file_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, tw.schema({"events": SCHEMA}), attrs={"run": 7}) as out:
        out.producer("events").append(**ROW)
    with h5py.File(path, "a") as file:
        file.attrs["checked by"] = "a shifter"
        file["events/x"].attrs["calibration"] = [1.0, 2.0]
        file["events/x"].attrs["units"] = "keV"
    run = tw.open(path)
    assert_same(run.attrs, {"run": 7, "checked by": "a shifter"})
    assert_same(run["events"]["x"].attrs, {"calibration": [1.0, 2.0], "units": "keV"})
    assert run["events"].read()["x"].tolist() == [1.0]


def test_what_cannot_be_carried_is_left_out_aloud(tmp_path: Path) -> None:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file["g/x"] = np.arange(3)
        attrs = file["g/x"].attrs
        attrs["kept"] = 1
        attrs["to another"] = file["g"].ref
        attrs["nothing"] = h5py.Empty("f4")
        attrs["compound"] = np.zeros(2, [("a", "i4"), ("b", "f8")])
        attrs["wide"] = np.longdouble(1)
        attrs.create("enum", 1, dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1}))
        attrs.create("no text", b"\xff\xfe", dtype=h5py.string_dtype("utf-8", 2))
        attrs["opaque"] = np.void(b"abc")
        file.attrs["datatype"] = 7
    run = tw.open(path)
    assert_same(run["g"]["x"].attrs, {"kept": 1, "nothing": np.zeros(0, np.float32)})  # which h5py reads
    said = {each.path: each.why for each in run.problems}
    names = ["to another", "compound", "wide", "enum", "no text", "opaque"]
    assert set(said) == {f"the attribute '{name}' of /g/x" for name in names} | {"the attribute 'datatype' of /"}
    assert "reference" in said["the attribute 'to another' of /g/x"]
    assert "128 bits" in said["the attribute 'wide' of /g/x"]
    assert "no UTF-8" in said["the attribute 'no text' of /g/x"]
    assert tw.convert(path, tmp_path / "own.h5").problems == run.problems


def test_units_and_descriptions_of_any_form_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        for name, units in (("a", ["mm"]), ("b", 3), ("c", ["mm", "cm"]), ("d", np.bytes_("mm")), ("e", "")):
            file[f"g/{name}"] = np.arange(3)
            file[f"g/{name}"].attrs["units"] = units
        file["g/a"].attrs["description"] = 5
        file["g"].attrs["units"] = "of a group"
    run = tw.open(path)
    table = run["g"]
    units = [table[name].attrs.get("units") for name in "abcde"]
    assert [list(each) if isinstance(each, np.ndarray) else each for each in units] == [
        "mm",
        3,
        ["mm", "cm"],
        "mm",
        None,
    ]
    assert table["a"].attrs["description"] == 5
    assert table.attrs["units"] == "of a group"
    assert not run.problems
    tw.convert(path, tmp_path / "own.h5")


def test_large_attributes_are_kept_up_to_a_bound(tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 256, 1 << 20).astype(np.uint8)
    path = tmp_path / "run.h5"
    with tw.create(path, tw.schema({"events": SCHEMA}), attrs={"array": array, "text": "x" * 900_000}) as out:
        out.producer("events").append(**ROW)
    assert_same(tw.open(path).attrs, {"array": array, "text": "x" * 900_000})
    with h5py.File(path) as file:
        assert np.array_equal(file.attrs["array"], array)
    with pytest.raises(tw.UsageError, match=r"attribute 'array' of the run cannot be stored .*more than 1 MiB"):
        tw.create(tmp_path / "larger.h5", tw.schema({"events": SCHEMA}), attrs={"array": np.append(array, 1)})
    assert not (tmp_path / "larger.h5").exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "it is NoneType"),
        ({"a": 1}, "it is dict"),
        (["a", 1], "it is list"),
        ([[1], [1, 2]], "inhomogeneous"),
        (2**64, "it is int"),
        (np.datetime64("2026-01-01"), r"datetime64\[D\]"),
        (np.longdouble(1), "float128"),
        ("a\0b", "NUL"),
        (b"\xff", "utf-8"),
    ],
)
def test_what_is_no_attribute_is_refused_by_name(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(tw.UsageError, match=f"the attribute 'a' of the run .*{said}"):
        tw.create(tmp_path / "run.h5", tw.schema({"events": SCHEMA}), attrs={"a": value})
    assert list(tmp_path.iterdir()) == []


def test_names_that_mean_something_else_are_refused() -> None:
    with pytest.raises(tw.UsageError, match="the schema says that already"):
        tw.schema({"events": SCHEMA}, attrs={"events": {"datatype": "mine"}})
    with pytest.raises(tw.UsageError, match="give it once"):
        tw.float32(unit="mm", attrs={"units": "cm"})
    with pytest.raises(tw.UsageError, match="has no field 'z'"):
        tw.schema({"events": SCHEMA}, attrs={"events/z": {"a": 1}})


def test_a_table_is_no_sequence(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, tw.schema({"events": SCHEMA})) as out:
        out.producer("events").append(x=[1.0, 2.0], hits=[[], []], name=["a", "b"])
    table = tw.open(path)["events"]
    assert (len(table), list(table)) == (2, ["x", "hits", "name"])
    assert "x" in table
    assert "hits/t" in table
    assert "z" not in table
    assert 1.0 not in table
    assert table[0]["name"] == "a"
    for wrong in (["x"], None, ("x", 0), 1.5):
        with pytest.raises(tw.UsageError, match=r"cannot be (read|indexed)"):
            table[wrong]  # type: ignore[call-overload]
    with pytest.raises(KeyError, match="its fields are x, hits, name"):
        table["z"]
    with pytest.raises(tw.UsageError):
        np.asarray(table)
    assert np.asarray(table["x"]).tolist() == [1.0, 2.0]


def test_attributes_are_a_mapping_that_cannot_be_changed() -> None:
    attrs = tw.Attributes(VALUES)
    assert attrs == tw.Attributes(dict(reversed(VALUES.items())))
    assert hash(attrs) == hash(tw.Attributes(VALUES))
    assert attrs != tw.Attributes(VALUES | {"number": 43})
    assert tw.Attributes({"a": 1}) != tw.Attributes({"a": 1.0})
    with pytest.raises(KeyError, match="there is no attribute 'z'"):
        attrs["z"]
    with pytest.raises(ValueError, match="read-only"):
        attrs["array"][0] = 1
