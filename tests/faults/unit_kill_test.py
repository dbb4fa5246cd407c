"""Rows and summaries of work units are exact, however often their workers are killed; h5py and uproot are the judges.

`pytest --long` kills a thousand times among 10^5 units, in each container.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import pytest
import uproot
from unit_campaign import rows_of, summary_of

import thalweg as tw


def read(path: Path) -> tuple[ak.Array, np.ndarray]:
    if path.suffix == ".root":
        with uproot.open(path) as file:
            return file["events"].arrays(), file["sums"].arrays()["key"].to_numpy()
    with h5py.File(path) as file:
        table = file["events"]
        ends, hits = table["hits/cumulative_length"][:], table["hits/flattened_data"][:]
        lists = ak.unflatten(hits, np.diff(ends, prepend=np.uint64(0)).astype(np.int64))
        columns = {name: table[name][:] for name in ("key", "index")}
        return ak.zip({**columns, "hits": lists}, depth_limit=1), file["sums/key"][:]


def expect_exact(path: Path, units: int) -> None:
    events, sums = read(path)
    keys = np.arange(units)
    np.testing.assert_array_equal(np.sort(sums), keys)
    key, index = events["key"].to_numpy(), events["index"].to_numpy().astype(np.int64)
    order = np.lexsort((index, key))
    rows = np.array([rows_of(int(each)) for each in keys])
    np.testing.assert_array_equal(key[order], np.repeat(keys, rows))
    first_rows = np.repeat(np.cumsum(rows) - rows, rows)
    np.testing.assert_array_equal(index[order], np.arange(rows.sum()) - first_rows)
    lengths = ak.num(events["hits"]).to_numpy()
    np.testing.assert_array_equal(lengths, (key + index) % 4)
    # Counts the elements of a unit in front of those of each row, in the order of its rows.
    sorted_lengths = lengths[order]
    ends = np.cumsum(sorted_lengths)
    before = ends - sorted_lengths
    before -= np.repeat(before[np.cumsum(rows) - rows][rows > 0], rows[rows > 0])
    hits = events["hits"][order]
    nth = np.repeat(before, sorted_lengths) + ak.flatten(ak.local_index(hits)).to_numpy()
    expected = (nth * 3 + np.repeat(key[order], sorted_lengths)).astype(np.uint16)
    np.testing.assert_array_equal(ak.flatten(hits).to_numpy(), expected)
    told = {unit.key: unit.summary.decode() for unit in tw.open(path).units}
    assert told == {int(each): summary_of(int(each)) for each in keys}


@pytest.mark.parametrize("extension", [".h5", ".root"])
def test_rows_and_summaries_are_exact(extension: str, tmp_path: Path, long_mode: bool) -> None:
    units, kills = (100_000, 1000) if long_mode else (3000, 25)
    path = tmp_path / f"run{extension}"
    program = Path(__file__).with_name("unit_campaign.py")
    seed = os.environ.get("THALWEG_SEED", "1")
    words = [sys.executable, "-W", "ignore", program, path, str(units), str(kills), seed]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    print(facts)
    assert facts["units"] == units, done.stderr
    assert facts["units_lost"] == 0
    assert facts["kills"] >= kills // 2, facts
    assert facts["codes"] == [0] * 4, done.stderr
    expect_exact(path, units)
