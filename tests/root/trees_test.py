"""TTrees that ROOT wrote: what Thalweg reads of them is what was given, and what it leaves out is named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from root_process import InRoot

import thalweg as tw

ROWS = 57


def text(row: int) -> str:
    return ("", "a", "µ é", "日本語")[row % 4] + "x" * (row % 9)


def single(value: float) -> float:
    return float(np.float32(value))


def expected(row: int) -> dict[str, Any]:
    return {
        "number": row,
        "large": row * 0x123456789,
        "small": (250 + row) % 256,
        "flag": row % 3 == 0,
        "array": [[single(np.float32(row) / np.float32(3 * i + j + 1)) for j in range(3)] for i in range(2)],
        "count": row % 7,
        "jagged": [row / 7 + i for i in range(row % 7)],
        "word": "w" * (row % 9),
        "pair": {"a": row, "b": row / 2},
        "list": [single(row / np.float32(3))] * (row % 4),
        "words": [text(row)] * (row % 4),
        "one_word": text(row),
        "hit_energy": row / 2,
        "hit_label": text(row),
        "hit_samples": [-row] * (row % 4),
        "map_first": [row],
        "map_second": [text(row)],
        "hits_energy": [row / 2] * (row % 3),
        "hits_label": [text(row)] * (row % 3),
        "hits_samples": [[-row] * (row % 4)] * (row % 3),
    }


@pytest.fixture
def tree_file(tmp_path: Path, in_root: InRoot) -> Path:
    in_root("write", "trees", tmp_path / "trees.root")
    return tmp_path / "trees.root"


def test_branches_of_all_kinds(tree_file: Path, tmp_path: Path, in_root: InRoot) -> None:
    run = tw.open(tree_file)
    array = run["t"].read().to_awkward()
    rows = [expected(row) for row in range(ROWS)]
    for name in rows[0]:
        assert array[name].to_list() == [row[name] for row in rows], name
    assert sorted(array.fields) == sorted(rows[0])
    assert run.problems == ()
    assert run["t"].schema["number"].description == "of the row"
    tw.convert(tree_file, tmp_path / "run.root")
    tables = in_root("read", tmp_path / "run.root")
    for name in rows[0]:
        assert tables["t"]["fields"][name] == [row[name] for row in rows], name
