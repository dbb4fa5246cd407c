"""Derivations: what several workers write together is what one program computes at once; uproot and h5py read it."""

import json
import time
from pathlib import Path
from typing import Any

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401 (the default codec of HDF5 files)
import numpy as np
import pytest
import uproot
from derive_cases import EVENTS, ROW, check, events, muons, train, two_muons, write_input

import thalweg as tw
from thalweg._derive.inputs import open_inputs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("ending", [".root", ".h5"])
def test_a_train_of_two(inputs: Path, tmp_path: Path, workers: int, ending: str) -> None:
    job = tw.derive(inputs, train(tmp_path, ending), workers=workers)
    assert job.ranges > 8
    report = job.run()
    check(tmp_path, report, ending)
    assert report.events == report.events_done == EVENTS
    assert report.columns == ["MET_phi", "MET_pt", "Muon_pt", "event", "label", "weight"]
    assert len(report.workers) == workers
    assert sum(each.events for each in report.workers) == EVENTS
    assert sum(each.ranges for each in report.workers) == job.ranges
    assert all(each.peak_pss > 1 << 20 and each.cpu > 0 for each in report.workers)
    json.dumps(report.to_dict())
    assert "12,000 of 12,000 events" in str(report)


def test_a_worker_without_a_range_left_waits_for_the_others(inputs: Path, tmp_path: Path) -> None:
    def slow_at_the_end(of: ak.Array) -> dict[str, Any]:
        if EVENTS - 1 in ak.to_numpy(of.event):
            time.sleep(1.5)
        return {"event": of.event}

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "out.root", slow_at_the_end)], workers=2).run()
    other, slow = sorted(report.workers, key=lambda each: each.busy)
    assert slow.busy > 1.5
    assert slow.idle < 0.5 < other.idle < slow.busy


def test_others_read_what_was_derived(inputs: Path, tmp_path: Path) -> None:
    of = events()
    chosen = of[two_muons(of)]
    both = [tw.Derivation(tmp_path / f"muons{ending}", muons, select=two_muons) for ending in (".root", ".h5")]
    tw.derive(inputs, both, workers=2).run()
    with uproot.open(tmp_path / "muons.root") as file:
        rows = file["Events"].arrays()
        assert ak.array_equal(rows[ak.argsort(rows.event)].pt, muons(chosen)["pt"])
    with h5py.File(tmp_path / "muons.h5") as file:
        found = file["Events/met2"][:][np.argsort(file["Events/event"][:])]
    np.testing.assert_array_equal(found, muons(chosen)["met2"])


def test_inputs_of_several_kinds_in_a_chain(tmp_path: Path) -> None:
    names = ("a.root", "b.root", "c.tree.root", "d.h5")
    row = {name: type_ for name, type_ in ROW.items() if name != "Jet"}
    first = 0
    for name, count in zip(names, (1000, 3000, 2100, 900), strict=True):
        write_input(tmp_path / name, first, count, row)
        first += count
    out = tmp_path / "out"
    out.mkdir()
    chain = [f"{tmp_path}/?.root:Events", tmp_path / "c.tree.root", f"{tmp_path}/d.h5:Events"]
    check(out, tw.derive(chain, train(out), workers=2).run(), of=events(0, first))


def test_columns_are_read_when_they_are_touched(inputs: Path, tmp_path: Path) -> None:
    def later(of: ak.Array) -> dict[str, Any]:
        """Touches a column that the first events do not need, and of a struct one member."""
        more = ak.sum(of.MET_phi) if of.event[0] > EVENTS // 2 else 0
        return {"n": ak.num(of.Jet), "tag": of.Jet.tag, "more": np.full(len(of), float(more))}

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "n.root", later)], workers=1).run()
    assert report.columns == ["Jet/pt", "Jet/tag", "MET_phi", "event"]
    found = tw.open(tmp_path / "n.root")["Events"].read(["tag"]).to_awkward()
    assert ak.array_equal(found.tag, events().Jet.tag)


def test_what_is_kept_says_what_the_input_says(inputs: Path, tmp_path: Path) -> None:
    given = {"met2": tw.float64(unit="GeV^2")}
    derivation = tw.Derivation(
        tmp_path / "a.h5", lambda of: {"met2": of.MET_pt**2}, keep=["Jet", "event"], schema=given
    )
    tw.derive(inputs, [derivation], workers=1).run()
    schema = tw.open(tmp_path / "a.h5")["Events"].schema
    assert (schema["event"].unit, schema["event"].description) == ("1", "number of the event")
    assert str(schema["met2"]) == "float64 (GeV^2)"
    assert ak.array_equal(tw.open(tmp_path / "a.h5")["Events"].read(["Jet"]).to_awkward().Jet, events().Jet)


@pytest.mark.parametrize("keeps", [0, EVENTS])
def test_a_selection_that_keeps_nothing_or_all(inputs: Path, tmp_path: Path, keeps: int) -> None:
    def select(of: ak.Array) -> Any:
        return of.event < keeps

    both = [
        tw.Derivation(tmp_path / "a.root", muons, select=select),
        tw.Derivation(tmp_path / "b.h5", keep="*", select=select),
    ]
    report = tw.derive(inputs, both, workers=2).run()
    assert [output.rows for output in report.outputs] == [keeps, keeps]
    assert len(tw.open(tmp_path / "a.root")["Events"]) == len(tw.open(tmp_path / "b.h5")["Events"]) == keeps


def test_an_input_without_events(tmp_path: Path) -> None:
    path = write_input(tmp_path / "empty.root", count=0)
    report = tw.derive(path, [tw.Derivation(tmp_path / "a.root", muons)], workers=2).run()
    assert (report.events, report.outputs[0].rows) == (0, 0)
    assert list(tw.open(tmp_path / "a.root")["Events"].schema) == ["event", "pt", "sum_pt", "met2"]


def test_rows_that_are_not_events(inputs: Path, tmp_path: Path) -> None:
    def each_muon(of: ak.Array) -> dict[str, Any]:
        return {"pt": ak.flatten(of.Muon_pt), "event": ak.flatten(ak.broadcast_arrays(of.event, of.Muon_pt)[0])}

    tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", each_muon, one_row_an_event=False, table="muons")]).run()
    found = tw.open(tmp_path / "a.root")["muons"].read().to_awkward()
    assert sorted(found.pt.tolist()) == sorted(ak.flatten(events().Muon_pt).tolist())


def test_summaries_are_merged_in_the_order_of_the_input(inputs: Path, tmp_path: Path) -> None:
    def numbers(of: ak.Array) -> dict[str, Any]:
        return {"first": Joined([int(of.event[0])]), "z": 1j * float(of.MET_pt[0])}

    report = tw.derive(inputs, [tw.Derivation(tmp_path / "a.root", muons, summary=numbers)], workers=3).run()
    first = report.outputs[0].summary.values["first"].items
    assert first == sorted(first)
    assert len(first) == sum(each.ranges for each in report.workers)
    assert report.outputs[0].summary.values["z"].imag > 0


class Joined:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def merge(self, other: "Joined") -> "Joined":
        return Joined(self.items + other.items)


def test_spawned_workers(inputs: Path, tmp_path: Path) -> None:
    both = [tw.Derivation(tmp_path / "muons.root", muons, select=two_muons)]
    report = tw.derive(inputs, both, workers=2, start="spawn").run()
    assert report.outputs[0].rows == int(ak.sum(two_muons(events())))
    with pytest.raises(tw.UsageError, match="top of a module"):
        tw.derive(inputs, [tw.Derivation(tmp_path / "b.root", lambda of: {"a": of.event})], start="spawn").run()
    assert not (tmp_path / "b.root").exists()


def test_more_workers_than_ranges(inputs: Path, tmp_path: Path) -> None:
    report = tw.derive(inputs, train(tmp_path), workers=500, range_bytes=1 << 30).run()
    check(tmp_path, report)
    assert len(report.workers) < 20
    assert "instead of 500" in report.notes[0]


def test_ranges_follow_clusters(inputs: Path) -> None:
    (file,) = open_inputs(inputs).files
    assert len(file.ends) > 20
    job = tw.derive(inputs, [tw.Derivation("unused.root", muons)], workers=4, range_bytes=1)
    ends = {each.stop for each in job._plan.ranges}
    assert set(file.ends) <= ends
    assert len(ends) == len(file.ends) + 4  # the smallest, one a worker, are cut in two
    sizes = [len(task[0]) for task in job._plan.tasks]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", ["PHYSLITE_example.root", "nano_dy_rntuple.root"])
def test_real_events(real_data: Path, tmp_path: Path, name: str) -> None:
    path = real_data / "events" / name
    if not path.exists():
        pytest.skip(f"there is no {path}")
    report = tw.derive(path, [tw.Derivation(tmp_path / "all.root", keep="*")], workers=2, range_bytes=1).run()
    table = next(iter(tw.open(path).values()))
    out = next(iter(tw.open(tmp_path / "all.root").values()))
    assert {each.path for each in report.left_out} == {each.path for each in tw.open(path).problems}
    assert report.is_whole == (not report.left_out)
    assert len(out) == len(table)
    column = "event" if "event" in table else "EventInfoAuxDyn_eventNumber"
    found, expected = (each.read().to_awkward() for each in (out, table))
    found, expected = (each[ak.argsort(each[column])] for each in (found, expected))
    for each in expected.fields:
        assert ak.array_equal(found[each], expected[each], equal_nan=True), each


def test_attributes_of_the_table_come_along(tmp_path: Path) -> None:
    """Those that all inputs share; the report names the others."""
    paths = []
    for number in range(2):
        attrs = {"events": {"beam": "p", "energy": np.float32(6.8), "file": number, "description": "collisions"}}
        paths.append(tmp_path / f"in{number}.root")
        with tw.create(paths[-1], tw.schema({"events": {"x": tw.int32}}, attrs=attrs)) as out:
            out.producer("events").append(x=range(10))
    job = tw.derive(paths, [tw.Derivation(tmp_path / "out.root", keep=["x"])], workers=1)
    report = job.run()
    table = tw.open(tmp_path / "out.root")["events"]
    assert dict(table.schema.attrs) == {"beam": "p", "energy": np.float32(6.8)}
    assert table.schema.description == "collisions"
    assert report.notes == ["the outputs lack attributes that differ between the input files: file"]
    one = tw.derive(paths[0], [tw.Derivation(tmp_path / "one.h5", keep=["x"])], workers=1).run()
    assert tw.open(tmp_path / "one.h5")["events"].attrs["file"] == 0
    assert one.notes == []
