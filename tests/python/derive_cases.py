"""Inputs of the tests of derivations, and what should come out of them."""

import os
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import uproot

import thalweg as tw

EVENTS = 12_000
# Clusters of some hundred events.
SMALL = {"narrow_page_bytes": 2048, "cluster_bytes": "32 KiB", "memory_bytes": "256 KiB", "extent_bytes": "64 KiB"}


def events(first: int = 0, count: int = EVENTS) -> ak.Array:
    """No two are the same."""
    number = np.arange(first, first + count)
    muons = number * 31 % 5
    jets = number * 17 % 4
    of_muons = np.repeat(number, muons) * 13 % 97
    of_jets = np.repeat(number, jets)
    return ak.zip(
        {
            "event": number.astype(np.uint64),
            "MET_pt": (number * 37 % 1009).astype(np.float32) / 8,
            "MET_phi": (number % 63).astype(np.float32) / 10,
            "weight": number / 7 % 3,
            "label": ak.Array([f"µ{each % 13}" * (each % 3) for each in number]),
            "Muon_pt": ak.unflatten(of_muons.astype(np.float32), muons),
            "Jet": ak.unflatten(ak.zip({"pt": of_jets.astype(np.float32), "tag": of_jets % 2 == 0}), jets),
        },
        depth_limit=1,
    )


ROW = {
    "event": tw.uint64(unit="1", description="number of the event"),
    "MET_pt": tw.float32(unit="GeV"),
    "MET_phi": tw.float32,
    "weight": tw.float64,
    "label": tw.string,
    "Muon_pt": tw.list_(tw.float32),
    "Jet": tw.list_({"pt": tw.float32, "tag": tw.bool_}),
}


def write_input(path: Path, first: int = 0, count: int = EVENTS, row: Any = None) -> Path:
    """By its ending: an RNTuple, HDF5, or with ".tree.root" a TTree."""
    if path.name.endswith(".tree.root"):
        with uproot.recreate(path) as file:
            flat = [name for name in ROW if name != "Jet"]
            types = {name: events(0, 1)[name].type.content for name in flat}
            file.mktree("Events", types)
            for start in range(first, first + count, 500):
                part = events(start, min(500, first + count - start))
                file["Events"].extend({name: part[name] for name in flat})
        return path
    tuning = SMALL if path.suffix == ".root" else {"narrow_page_bytes": 2048}
    with tw.create(path, {"Events": row or ROW}, tuning=tuning) as out, out.producer("Events") as producer:
        for start in range(first, first + count, 500):
            part = events(start, min(500, first + count - start))
            producer.append({name: part[name] for name in row or ROW})
    return path


def muons(of: ak.Array) -> dict[str, Any]:
    good = of.Muon_pt > 20
    return {"event": of.event, "pt": of.Muon_pt[good], "sum_pt": ak.sum(of.Muon_pt, axis=1), "met2": of.MET_pt**2}


def two_muons(of: ak.Array) -> Any:
    return ak.num(of.Muon_pt) >= 2


def sums(of: ak.Array) -> dict[str, Any]:
    histogram, _ = np.histogram(ak.to_numpy(of.MET_pt), 10, (0, 130))
    kinds = hist.Hist.new.StrCat([], growth=True, name="label").Reg(10, 0, 130, name="met").Double()
    kinds.fill(of.label, ak.to_numpy(of.MET_pt))
    return {"weight": ak.sum(of.weight), "met": histogram, "kinds": kinds}


def train(folder: Path, ending: str = ".root") -> list[tw.Derivation]:
    keep = ["event", "MET_*", "label", "Muon_pt"]
    cuts = {"two muons": two_muons, "met": lambda of: of.MET_pt > 30}
    return [
        tw.Derivation(folder / f"muons{ending}", muons, select=two_muons, summary=sums),
        tw.Derivation(folder / f"lite{ending}", keep=keep, select=cuts),
    ]


def sorted_rows(path: Path) -> ak.Array:
    """In the order of the events, as our reader has them."""
    rows = tw.open(path)["Events"].read().to_awkward()
    return rows[ak.argsort(rows.event)]


def check(folder: Path, report: tw.DerivationReport, ending: str = ".root", of: ak.Array | None = None) -> None:
    """Values, cut flow and sums of `train` are those of all events, computed at once."""
    of = events() if of is None else of
    chosen = of[two_muons(of)]
    expected = muons(chosen)
    found = sorted_rows(folder / f"muons{ending}")
    assert set(found.fields) == set(expected)
    for name, values in expected.items():
        assert ak.array_equal(found[name], values, dtype_exact=True), name
    last = chosen[chosen.MET_pt > 30]
    found = sorted_rows(folder / f"lite{ending}")
    assert found.fields == ["event", "MET_pt", "MET_phi", "label", "Muon_pt"]
    for name in found.fields:
        assert ak.array_equal(found[name], last[name], dtype_exact=True), name
    first, second = (output.summary for output in report.outputs)
    assert (first.events, first.rows, first.cuts) == (len(of), len(chosen), {"selected": len(chosen)})
    assert (second.rows, second.cuts) == (len(last), {"two muons": len(chosen), "met": len(last)})
    np.testing.assert_allclose(first.values["weight"], ak.sum(of.weight), rtol=1e-12)
    np.testing.assert_array_equal(first.values["met"], sums(of)["met"])
    found, expected = first.values["kinds"], sums(of)["kinds"]
    assert set(found.axes[0]) == set(expected.axes[0])
    for label in expected.axes[0]:
        np.testing.assert_array_equal(found[label, :].view(flow=True), expected[label, :].view(flow=True))
    for output in report.outputs:
        stored = tw.open(output.path).metadata["derive.result"]
        assert f'"rows":{output.rows}' in stored
    assert report.is_whole
    assert not [name for name in os.listdir(folder) if name.endswith(".journal")]
