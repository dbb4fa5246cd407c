"""RNTuples that ROOT wrote: Thalweg has exactly the values that ROOT has of them."""

from pathlib import Path
from typing import Any

import pytest
from jsroot import is_same
from rntuple_ways import without_names_of_tuples
from root_process import InRoot

import thalweg as tw

ROWS = 57


def text(row: int) -> str:
    return ("", "a", "µ é", "日本語")[row % 4] + "x" * (row % 9)


def without_what_is_left_out(value: Any) -> Any:
    if isinstance(value, list):
        return [without_what_is_left_out(each) for each in value]
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in ("nothing", "chain")}
        return {name: without_what_is_left_out(each) for name, each in kept.items()}
    return value


def expected_of(type_: str, values: list[Any]) -> list[Any]:
    """Returns the expected values for those of ROOT: a char is a byte for Thalweg."""
    return [value & 0xFF for value in values] if type_ == "char" else without_what_is_left_out(values)


def wrong_fields(run: tw.Run, by_root: dict[str, Any]) -> dict[str, Any]:
    """By table and field, the first value that is wrong, and what it should be. Fields that are left out are wrong."""
    assert set(run) == set(by_root)
    wrong: dict[str, Any] = {}
    for name, table in by_root.items():
        array = run[name].read().to_awkward()
        assert len(array) == table["rows"]
        for field, values in table["fields"].items():
            if field not in array.fields:
                wrong[f"{name}/{field}"] = "it is not there"
                continue
            found = without_names_of_tuples(array[field].to_list())
            for row, pair in enumerate(zip(found, expected_of(table["types"][field], values), strict=True)):
                if not is_same(*pair):
                    wrong[f"{name}/{field}"] = (row, *pair)
                    break
    return wrong


def written_by_root(kind: str, folder: Path, in_root: InRoot) -> tuple[tw.Run, dict[str, Any]]:
    path = folder / f"{kind}.root"
    in_root("write", kind, path)
    assert tw.verify(path).is_sound
    return tw.open(path), in_root("read", path)


@pytest.mark.parametrize("kind", ["growth", "projected", "encodings"])
def test_all_that_root_has(kind: str, tmp_path: Path, in_root: InRoot) -> None:
    """Schemas that grow while the file is written; projected fields; every column type, in every compression."""
    run, by_root = written_by_root(kind, tmp_path, in_root)
    assert wrong_fields(run, by_root) == {}
    assert run.problems == ()
    assert {table["rows"] for table in by_root.values()} == {ROWS}


def test_every_type(tmp_path: Path, in_root: InRoot) -> None:
    run, by_root = written_by_root("types", tmp_path, in_root)
    bottom, bottoms = (by_root["classes"]["fields"].pop(name) for name in ("bottom", "bottoms"))
    assert sum(len(table["fields"]) for table in by_root.values()) == 49
    not_there = {"left_out/empty": "it is not there", "left_out/streamed": "it is not there"}
    assert wrong_fields(run, by_root) == not_there
    no_members, streamed = "it has no members", "objects streamed by ROOT are not read"
    assert {each.path: each.why for each in run.problems} == {
        "left_out/empty": no_members,
        "left_out/has_empty.nothing": no_members,
        "left_out/have_empty.nothing": no_members,
        "left_out/streamed": streamed,
        "left_out/has_streamed.chain": streamed,
        "left_out/have_streamed.chain": streamed,
    }
    # Members of a class and of its bases that have one name.
    found = run["classes"].read(["bottom", "bottoms"]).to_awkward()
    assert found["bottom"].to_list() == [as_we_show(each) for each in bottom] == [bottom_of(row) for row in range(ROWS)]
    assert found["bottoms"].to_list() == [[as_we_show(each) for each in row] for row in bottoms]


def as_we_show(bottom: dict[str, Any]) -> dict[str, Any]:
    left, right = bottom[":_0"], bottom[":_1"]
    return {
        "id": bottom["id"],
        "label": bottom["label"],
        "fixtures::Right::id": right["id"],
        "y": right["y"],
        "top": right[":_0"]["top"],
        "fixtures::Left::id": left["id"],
        "x": left["x"],
        "fixtures::Left::top": left[":_0"]["top"],
    }


def bottom_of(row: int) -> dict[str, Any]:
    """The same, as it was written."""
    return {
        "id": row,
        "label": text(row),
        "fixtures::Right::id": -100 - row,
        "y": row / 7,
        "top": -row,
        "fixtures::Left::id": 100 + row,
        "x": row / 4,
        "fixtures::Left::top": row,
    }


def test_what_grew_has_the_values_that_were_given(tmp_path: Path, in_root: InRoot) -> None:
    run, _ = written_by_root("growth", tmp_path, in_root)
    array = run["t"].read().to_awkward()
    late = range(15, ROWS)
    assert array["early"].to_list() == list(range(ROWS))
    assert array["array"].to_list() == [[0, 0, 0]] * 15 + [[row, 2, -3] for row in late]
    assert array["list"].to_list() == [[]] * 15 + [[row] * (row % 4) for row in late]
    assert array["text"].to_list() == [""] * 15 + [text(row) for row in late]
    assert array["optional"].to_list() == [None] * 15 + [row / 7 if row % 2 else None for row in late]
    assert array["variant"].to_list() == [None] * 15 + [text(row) if row % 2 else row for row in late]
    assert array["last"].to_list() == [[]] * 35 + [[text(row)] * (row % 3) for row in range(35, ROWS)]
    assert array["flag"].to_list() == [False] * 35 + [row % 3 == 0 for row in range(35, ROWS)]
    part = run["t"].read(["list", "text"], rows=slice(12, 40)).to_awkward()
    assert part.to_list() == array[["list", "text"]][12:40].to_list()
