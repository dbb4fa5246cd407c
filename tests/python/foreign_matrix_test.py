"""Kinds of HDF5 files of other programs: each dataset is equal to what h5py reads, or left out aloud."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from foreign_kinds import KINDS, LEFT_OUT
from foreign_programs import PROGRAMS, make_by_program
from hdf5_values import attributes, columns, datasets, equal, without_rows

import thalweg as tw


def is_whole(path: Path) -> bool:
    """Each dataset has a column of its name with its values, or is among the problems. True where there are none."""
    try:
        run = tw.open(path)
    except tw.DataError as error:
        said = str(error)
        run = None
    if run is None:
        with h5py.File(path, locking=False) as file:
            missing = [name for name, _ in datasets(file) if name not in said]
        assert "holds no table" in said
        assert missing == []
        return False
    left_out = {problem.path for problem in run.problems}
    found, known = list(columns(run)), list(attributes(run))
    with h5py.File(path, locking=False) as file:
        for name, theirs in datasets(file):
            if name in left_out:
                continue
            last = name.rsplit("/", 1)[1]
            if not theirs.shape and theirs.shape != (0,):
                wanted = without_rows(theirs)
                is_there = any(np.array_equal(value, wanted) for each, value in known if each == last)
            else:
                # A table of another length is called group_name.
                mine = [values for column, values in found if f"/{column}".endswith((f"/{last}", f"_{last}"))]
                members = [each for each in theirs.dtype.names or () if f"{name}.{each}" not in left_out]
                expected = theirs.fields(members)[()] if members else theirs[()]
                is_there = any(equal(values, expected) for values in mine)
            assert is_there, f"{name} is dropped, or has other values"
    return not left_out


@pytest.mark.parametrize("libver", ["earliest", "v110", "latest"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_h5py(kind: str, libver: str, tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    with h5py.File(path, "w", libver=(libver, "latest" if libver == "latest" else "v110")) as file:
        KINDS[kind](file)
    assert is_whole(path) == (kind not in LEFT_OUT)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_file_of_another_program(kind: str, tmp_path: Path) -> None:
    make_by_program(kind, tmp_path / "file.h5")
    assert is_whole(tmp_path / "file.h5") == (kind not in LEFT_OUT)


def test_the_format_says_how_many_are_read(repository: Path) -> None:
    kinds = len(KINDS) + len(PROGRAMS)
    assert kinds >= 90
    sentence = (
        f"{kinds} kinds of files: {kinds - len(LEFT_OUT)} are read whole, and of {len(LEFT_OUT)} something is left"
    )
    assert sentence in " ".join((repository / "docs/formats/hdf5.md").read_text().split())
