"""Compares what a killed job has written with what an undisturbed one has, and with what it should be."""

import json
from pathlib import Path
from typing import Any

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import uproot

import thalweg as tw
from kills.derive.job import DEATH, NAMES, expected, runs_of
from kills.derive.plan import Plan
from kills.judge import require
from kills.read import read_units


def rows_of(path: Path) -> ak.Array:
    """Returns rows as uproot and h5py read them, without the parameters of texts."""
    if path.suffix == ".root":
        with uproot.open(path) as file:
            rows = file["Events"].arrays()
    else:
        with h5py.File(path) as file:
            group = file["Events"]
            rows = ak.zip({name: _column(group[name]) for name in group}, depth_limit=1)
    return ak.without_parameters(rows)


def _column(node: Any) -> ak.Array:
    if isinstance(node, h5py.Dataset):
        return ak.Array(node[:])
    lengths = node["cumulative_length"][:]
    lengths[1:] -= lengths[:-1].copy()
    items = node["flattened_data"]
    return ak.unflatten(ak.Array(items[:]) if isinstance(items, h5py.Dataset) else _column(items), lengths)


def _runs_in(path: Path) -> list[int]:
    if path.suffix == ".root":
        with uproot.open(path) as file:
            return [int(each) for each in file["Runs"].arrays()["run"]]
    with h5py.File(path) as file:
        return [int(each) for each in file["Runs/run"][:]]


def in_order_of_events(rows: ak.Array) -> ak.Array:
    return rows[ak.argsort(rows.event)]


def are_in_order_of_input(events: ak.Array, output: Path) -> bool:
    """The input has several producers, which have no common order, so rows need not be ordered by event."""
    plan = json.loads(tw.open(output).metadata["derive.plan"])
    there = np.concatenate([tw.open(each["path"])["Events"]["event"][:] for each in plan["inputs"]])
    places = np.argsort(there)
    return bool(np.all(np.diff(places[ak.to_numpy(events).astype(int)]) > 0))


def pages(path: Path) -> list[Any]:
    """Returns, for each cluster and column, the rows counted and the bytes of each page."""
    content, found = path.read_bytes(), []
    with uproot.open(path) as file:
        for columns in file["Events"].page_link_list:
            for description in columns:
                bytes_of = [content[page.locator.offset :][: page.locator.num_bytes] for page in description.pages]
                found.append(([page.num_elements for page in description.pages], bytes_of))
    return found


def judge(plan: Plan, calm: Path, killed: Path) -> tuple[int, int]:
    """Returns the numbers of rows and ranges that were compared. Raises WrongError."""
    left = {each.name for each in killed.iterdir() if not each.name.startswith(DEATH)}
    require(left == {f"{name}{plan.extension}" for name in NAMES}, f"left behind: {sorted(left)}")
    rows, ranges = 0, 0
    for name, right in expected(plan).items():
        ours, theirs = (folder / f"{name}{plan.extension}" for folder in (killed, calm))
        found, undisturbed = rows_of(ours), rows_of(theirs)
        if plan.is_ordered:
            require(pages(ours) == pages(theirs), f"{ours.name}: pages are not those of an undisturbed job")
            require(are_in_order_of_input(found.event, theirs), f"{ours.name}: rows are not in the input's order")
        found, undisturbed = in_order_of_events(found), in_order_of_events(undisturbed)
        require(_are_same(found, undisturbed), f"{ours.name}: {len(found)} rows, not those of an undisturbed job")
        require(_are_same(found, _bare(right)), f"{ours.name}: {len(found)} rows, not those that the input gives")
        units, others = ({unit.key: unit.summary for unit in read_units(each)} for each in (ours, theirs))
        require(units == others, f"{ours.name}: sums of ranges are not those of an undisturbed job")
        require(len(units) == len(read_units(ours)), f"{ours.name}: ranges are listed twice")
        results = [json.loads(tw.open(each).metadata["derive.result"]) for each in (ours, theirs)]
        require(results[0] == results[1], f"{ours.name}: sums are {results[0]}, and {results[1]} of an undisturbed job")
        if plan.carries:
            runs = [run for file in range(plan.files) for run in runs_of(file)]
            require(_runs_in(ours) == runs, f"{ours.name}: the carried table has the rows {_runs_in(ours)}, not {runs}")
        rows, ranges = rows + len(found), ranges + len(units)
    return rows, ranges


def _bare(rows: ak.Array) -> ak.Array:
    return ak.without_parameters(rows)


def _are_same(first: ak.Array, second: ak.Array) -> bool:
    names = sorted(first.fields)
    return names == sorted(second.fields) and all(
        ak.array_equal(first[name], second[name], dtype_exact=True) for name in names
    )
