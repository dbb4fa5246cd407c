"""Every object and attribute of a file of another program is shown, or named among what is left out."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import uproot
from foreign_kinds import KINDS
from foreign_programs import PROGRAMS, make_by_program

import thalweg as tw

# HDF5 keeps axes as references in these; lh5 describes the type, which the schema has, in the last one.
STRUCTURE = ("DIMENSION_LIST", "REFERENCE_LIST", "datatype")
DATA = Path(os.environ.get("THALWEG_FOREIGN_FILES", ""))


def attribute_names(run: tw.Run) -> set[str]:
    """The names of all attributes that are shown; that of an object without rows is called "object@attribute"."""

    def of_type(type_: Any) -> Iterator[str]:
        yield from type_.attrs
        yield from (["units"] if type_.unit else []) + (["description"] if type_.description else [])
        for _, member in type_.members:
            yield from of_type(member)
        if type_.element:
            yield from of_type(type_.element)

    found = {*run.attrs, *(name for attrs in run.group_attrs.values() for name in attrs)}
    for table in run.schema.tables:
        found |= {*table.attrs, *of_type(table.row), *(["description"] if table.description else [])}
    return found


def lost_attributes(path: Path, run: tw.Run) -> list[str]:
    shown, named = attribute_names(run), [each.path for each in run.problems]
    shown |= {name.rpartition("@")[2] for name in shown}
    lost = []

    def look(place: str, each: Any) -> None:
        for name in each.attrs:
            said = (f"the attribute '{name}' of {place}", f"the attributes of {place}")
            if name not in (*STRUCTURE, "encoding") and name not in shown and not set(said) & set(named):
                lost.append(f"{place}@{name}")

    with h5py.File(path, locking=False) as file:
        look("/", file)
        file.visititems(lambda name, each: look(f"/{name}", each))
    return lost


def mark(file: h5py.File) -> None:
    """Gives every object of a file an attribute of its own."""
    objects: list[Any] = []
    file.visititems(lambda _, each: objects.append(each))
    for number, each in enumerate(objects):
        each.attrs[f"mark_{number}"] = number


def open_or_said(path: Path) -> tw.Run | str:
    try:
        return tw.open(path)
    except tw.DataError as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_every_attribute_of_a_file_of_h5py(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    with h5py.File(path, "w") as file:
        KINDS[kind](file)
        mark(file)
    run = open_or_said(path)
    assert isinstance(run, str) or lost_attributes(path, run) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_every_attribute_of_a_file_of_another_program(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    make_by_program(kind, path)
    with h5py.File(path, "a") as file:
        mark(file)
    run = open_or_said(path)
    assert isinstance(run, str) or lost_attributes(path, run) == []


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.*")) if DATA.name else [], ids=lambda path: path.name)
def test_every_object_of_the_files_in_a_folder(path: Path) -> None:
    """THALWEG_FOREIGN_FILES names the folder."""
    with path.open("rb") as file:
        start = file.read(4)
    run = open_or_said(path) if start in (b"root", b"\x89HDF") else ""
    if isinstance(run, str):
        pytest.skip(run or "it is no file of HDF5 or ROOT")
    if start == b"root":
        assert lost_objects(path, run) == []
    else:
        assert lost_attributes(path, run) == []


def lost_objects(path: Path, run: tw.Run) -> list[str]:
    named = {each.path for each in run.problems}
    with uproot.open({path: None}) as file:
        classes = file.classnames(cycle=False)
    return [name for name, kind in classes.items() if "Directory" not in kind and name not in {*run, *named}]


def nexus(path: Path) -> Path:
    """Scalars with units in a table, beside it and in no group; a group of a table that has no column."""
    with h5py.File(path, "w") as file:
        file["entry/data/x"] = np.arange(4)
        for place, value in (("entry/data/energy", 12.5), ("entry/source/current", 300), ("start", 0.0)):
            file.create_dataset(place, data=value).attrs["units"] = f"unit of {place}"
        file.create_dataset("null", data=h5py.Empty("f4")).attrs["of null"] = "b"
        file.create_dataset("ref", data=file["entry"].ref, dtype=h5py.ref_dtype).attrs["of ref"] = 1
        file.create_dataset("pair", data=np.zeros((), [("a", "i4")])).attrs["of pair"] = 2
        file.create_group("entry/data/sample/beam").attrs["NX_class"] = "NXbeam"
        file["entry/data/sample"].attrs["NX_class"] = "NXsample"
    return path


def test_attributes_of_objects_without_rows_are_called_like_those_of_nexus(tmp_path: Path) -> None:
    run = tw.open(nexus(tmp_path / "run.h5"))
    table = run["entry/data"].attrs
    assert table["energy"] == 12.5
    assert table["energy@units"] == "unit of entry/data/energy"
    assert table["sample@NX_class"] == "NXsample"
    assert table["sample/beam@NX_class"] == "NXbeam"
    assert run.group_attrs["entry/source"]["current@units"] == "unit of entry/source/current"
    assert (run.attrs["start@units"], run.attrs["null@of null"]) == ("unit of start", "b")
    assert (run.attrs["ref@of ref"], run.attrs["pair@of pair"]) == (1, 2)


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_they_are_converted(ending: str, tmp_path: Path) -> None:
    tw.convert(nexus(tmp_path / "run.h5"), tmp_path / f"copy.{ending}")
    before, after = tw.open(tmp_path / "run.h5"), tw.open(tmp_path / f"copy.{ending}")
    assert after["entry/data"].attrs == before["entry/data"].attrs
    assert after.attrs == before.attrs
    assert after.group_attrs == before.group_attrs
