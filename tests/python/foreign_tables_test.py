"""Which tables there are in HDF5 files of other programs: structs, lists, lengths that differ, links of every kind."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw
from thalweg import _core

ROWS = 50


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with h5py.File(tmp_path / "made.h5", "w") as made:
        yield made


def opened(file: h5py.File) -> tw.Run:
    file.flush()
    path = file.filename
    file.close()
    return tw.open(path)


def references(file: h5py.File, path: str, rows: int = ROWS) -> None:
    """Which Thalweg does not read."""
    file.create_dataset(path, (rows,), h5py.ref_dtype)


def lengths_of(run: tw.Run) -> dict[str, tuple[int, list[str]]]:
    return {name: (len(table), table.columns) for name, table in run.items()}


def left_out(run: tw.Run) -> list[str]:
    return [problem.path for problem in run.problems]


def notes(run: tw.Run) -> list[str]:
    return list(_core.Reader.open(run.path).notes)


def test_the_readable_members_of_a_struct_stay(file: h5py.File) -> None:
    file["raw/waveform/t0"] = np.arange(ROWS) / 2
    file["raw/waveform/dt"] = np.full(ROWS, 0.1)
    references(file, "raw/waveform/values")
    references(file, "raw/inner/deep/one")
    file["raw/timestamp"] = np.arange(ROWS)
    run = opened(file)
    assert lengths_of(run) == {"raw": (ROWS, ["timestamp", "waveform", "waveform/dt", "waveform/t0"])}
    assert left_out(run) == ["/raw/inner/deep/one", "/raw/waveform/values"]
    assert np.array_equal(run["raw"].read("waveform/t0")["waveform"]["t0"], np.arange(ROWS) / 2)


def test_the_readable_members_of_the_elements_of_a_list_stay(file: h5py.File) -> None:
    lengths = np.arange(ROWS) % 3
    file["raw/hits/cumulative_length"] = np.cumsum(lengths).astype(np.uint32)
    file["raw/hits/flattened_data/energy"] = np.arange(lengths.sum(), dtype=np.float32)
    references(file, "raw/hits/flattened_data/partner", int(lengths.sum()))
    file["raw/id"] = np.arange(ROWS)
    run = opened(file)
    assert lengths_of(run) == {"raw": (ROWS, ["id", "hits", "hits/energy"])}
    assert left_out(run) == ["/raw/hits/flattened_data/partner"]
    hits = run["raw"].read("hits/energy")["hits"]
    assert [len(hits[row]["energy"]) for row in range(6)] == [0, 1, 2, 0, 1, 2]


def test_a_list_without_readable_elements_keeps_its_lengths(file: h5py.File) -> None:
    file["raw/hits/cumulative_length"] = np.arange(ROWS, dtype=np.uint32)
    references(file, "raw/hits/flattened_data")
    file["raw/id"] = np.arange(ROWS)
    run = opened(file)
    assert lengths_of(run) == {"raw": (ROWS, ["id", "hits", "hits/cumulative_length"])}
    assert left_out(run) == ["/raw/hits/flattened_data"]


def test_what_differs_in_length_is_a_table_of_its_own(file: h5py.File, tmp_path: Path) -> None:
    for name, rows in {"x": ROWS, "y": ROWS, "edges": ROWS + 1, "version": 1}.items():
        file[f"detector/{name}"] = np.arange(rows)
    file["detector/calibration/gain"] = np.arange(8.0)
    file["detector/calibration/offset"] = np.arange(8.0)
    file["detector/calibration/channel"] = np.arange(ROWS)
    file["detector/map/pixel"] = np.arange(7)
    run = opened(file)
    assert lengths_of(run) == {
        "detector": (ROWS, ["x", "y", "calibration", "calibration/channel"]),
        "detector_edges": (ROWS + 1, ["edges"]),
        "detector_version": (1, ["version"]),
        "detector_calibration_gain": (8, ["gain"]),
        "detector_calibration_offset": (8, ["offset"]),
        "detector_map": (7, ["pixel"]),
    }
    assert run.problems == ()
    assert np.array_equal(run["detector_edges"].read()["edges"], np.arange(ROWS + 1))
    for target in ("copy.h5", "copy.root"):
        assert tw.convert(run.path, tmp_path / target).is_whole
        assert lengths_of(tw.open(tmp_path / target)) == lengths_of(run)


def test_where_no_two_have_one_length_each_is_a_table(file: h5py.File) -> None:
    file["scan/data"] = np.zeros((ROWS, 4, 4))
    file["scan/x"] = np.arange(4)
    file["scan/time"] = np.arange(ROWS + 1)
    file["image"] = np.zeros((3, 3))
    file["mask"] = np.zeros(9, np.int8)
    assert lengths_of(opened(file)) == {
        "image": (3, ["image"]),
        "mask": (9, ["mask"]),
        "scan/data": (ROWS, ["data"]),
        "scan/time": (ROWS + 1, ["time"]),
        "scan/x": (4, ["x"]),
    }


def test_invented_names_give_way_to_those_of_the_file(file: h5py.File) -> None:
    for name in ("g/a", "g/b", "made/c/x", "g_odd/a", "x"):
        file[name] = np.arange(ROWS)
    file["g/odd"] = np.arange(3)
    run = opened(file)
    assert lengths_of(run) == {
        "made_": (ROWS, ["x"]),
        "g": (ROWS, ["a", "b"]),
        "g_odd_": (3, ["odd"]),
        "g_odd": (ROWS, ["a"]),
        "made/c": (ROWS, ["x"]),
    }


def test_names_that_no_field_can_have_cost_only_themselves(file: h5py.File) -> None:
    file["g/x"] = np.arange(ROWS)
    file["g/{x,y}"] = np.arange(ROWS)
    run = opened(file)
    assert lengths_of(run) == {"g": (ROWS, ["x"])}
    assert left_out(run) == ["/g/{x,y}"]


@pytest.mark.parametrize("name", ["thalweg.h5", "{run}.h5", "a,b.h5"])
def test_a_file_of_any_name_is_read(name: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / name, "w") as file:
        file["x"] = np.arange(ROWS)
    assert lengths_of(tw.open(tmp_path / name)) == {"root": (ROWS, ["x"])}


def test_soft_links_are_followed(file: h5py.File) -> None:
    file["a/t"] = np.arange(ROWS)
    file["a/x"] = np.arange(ROWS) * 2
    file["b/y"] = np.arange(ROWS) * 3
    file["b/t"] = h5py.SoftLink("/a/t")
    file["b/gone"] = h5py.SoftLink("/nowhere")
    file["alias"] = h5py.SoftLink("/a")
    run = opened(file)
    assert lengths_of(run) == {"a": (ROWS, ["t", "x"]), "b": (ROWS, ["t", "y"])}
    assert np.array_equal(run["b"].read("t")["t"], np.arange(ROWS))
    assert [str(problem) for problem in run.problems] == [
        "/b/gone is left out (it is a link to /nowhere, which is not there, or in another file)"
    ]
    assert notes(run) == ["/b/t is /a/t under another name", "/alias is /a under another name"]


def test_hard_links_are_shown_in_each_table_and_groups_once(file: h5py.File) -> None:
    file["a/t"] = np.arange(ROWS)
    file["b/y"] = np.arange(ROWS) * 3
    file["b/t"] = file["a/t"]
    file["c"] = file["a"]
    run = opened(file)
    assert lengths_of(run) == {"a": (ROWS, ["t"]), "b": (ROWS, ["t", "y"])}
    assert run.problems == ()
    assert notes(run) == ["/b/t is /a/t under another name", "/c is /a under another name"]


def test_cycles_end(file: h5py.File) -> None:
    file["a/t"] = np.arange(ROWS)
    file["a/up"] = file["/"]
    file["a/self"] = file["a"]
    file["groups/b/t"] = np.arange(ROWS)
    file["groups/b/soft"] = h5py.SoftLink("/groups")
    run = opened(file)
    assert lengths_of(run)["a"] == (ROWS, ["t"])
    assert lengths_of(run)["groups/b"] == (ROWS, ["t"])
    assert run.problems == ()
    assert sum("leads back to a group that it is in" in note for note in notes(run)) == 3


def test_links_that_multiply_end(file: h5py.File) -> None:
    """Every group is in the next one twice: 2^24 paths lead to the dataset."""
    below = file.create_group("g0")
    below["x"] = np.arange(ROWS)
    for level in range(1, 24):
        above = file.create_group(f"g{level}")
        above["left"] = above["right"] = below
        below = above
    below["x"] = np.arange(ROWS)
    run = opened(file)
    assert np.array_equal(run["g0"].read()["x"], np.arange(ROWS))
    assert any("again and again" in problem.why for problem in run.problems)


def test_external_links_are_named(file: h5py.File, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["d/x"] = np.arange(ROWS)
    file["a/t"] = np.arange(ROWS)
    file["a/x"] = h5py.ExternalLink("other.h5", "/d/x")
    file["a/through"] = h5py.SoftLink("/a/other/x")
    file["a/other"] = h5py.ExternalLink("other.h5", "/d")
    run = opened(file)
    assert lengths_of(run) == {"a": (ROWS, ["t"])}
    assert left_out(run) == ["/a/other", "/a/through", "/a/x"]
    assert run.problems[2].why == "it is /d/x of the file other.h5: open that file"
