"""Names and texts in files that are no UTF-8: an error of ours, or a note, and the values all the same."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import thalweg as tw
from thalweg import _core


def test_values_under_names_that_are_no_utf8_are_read(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group(b"tab\xff")
        group.create_dataset(b"x\xfe", data=np.arange(10))
        group.create_dataset("y", data=np.arange(10.0)).attrs["units"] = np.bytes_(b"m\xfdm")
    run = tw.open(path)
    assert [table.name for table in run.schema.tables] == ["tab\\xff"]
    rows = run["tab\\xff"].read()
    assert np.array_equal(rows["x\\xfe"], np.arange(10))
    assert np.array_equal(rows["y"], np.arange(10.0))
    assert sum("is no UTF-8" in note for note in _core.Reader.open(str(path)).notes) >= 2


@pytest.mark.parametrize("name", ["run.root", "run.h5"])
def test_mutated_names_are_read_or_refused_as_data(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    metadata = {"operator_key": "someone_else"}
    with tw.create(path, {"events": {"energy_column": tw.float64(unit="keVunits")}}, metadata=metadata) as out:
        out.producer("events").append_columns(100, [np.arange(100.0)])
    whole = path.read_bytes()
    refused = tried = 0
    places = list(re.finditer(b"energy_column|keVunits|events|operator_key|someone_else", whole))
    for match in places[:: 1 + len(places) // 12]:  # each costs a process or two where it is an HDF5 file
        path.write_bytes(whole[: match.start() + 2] + b"\xff" + whole[match.start() + 3 :])
        tried += 1
        try:
            run = tw.open(path)
            for table in run.schema.tables:
                assert np.array_equal(next(iter(run[table.name].read().members.values())), np.arange(100.0))
            assert str(tw.verify(path))
        except tw.DataError:
            refused += 1
    assert 0 < refused <= tried
    assert tried > 4
