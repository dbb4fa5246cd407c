"""Runs of very many short-lived producers, judged by h5py and uproot alone."""

from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (the filters)
import numpy as np
import uproot

import thalweg as tw

SCHEMA = {
    "events": {
        "producer": tw.uint32,
        "row": tw.uint32,
        "hits": tw.list_(tw.uint16),
        "tracks": tw.list_(tw.list_(tw.float32)),
        "name": tw.string,
    }
}
PRODUCERS = 1200
Event = tuple[list[int], list[list[float]], str]


def rows_of(producer: int) -> int:
    return 3000 if producer in (3, 700) else 1 + producer % 3  # two of them have pages of their own


def event(producer: int, row: int) -> Event:
    hits = [(producer * 31 + row * 7 + i) % 65536 for i in range((producer + row * 3) % 5)]
    tracks = [
        [producer + row / 8 + track for _ in range((producer + track) % 4)] for track in range((producer + row) % 3)
    ]
    return hits, tracks, f"event {row} of {producer}" if row % 2 else ""


def write(path: Path) -> int:
    with tw.create(path, SCHEMA, tuning={"narrow_page_bytes": 8192}) as out:
        for number in range(PRODUCERS):
            with out.producer("events") as table:
                for row in range(rows_of(number)):
                    hits, tracks, name = event(number, row)
                    table.append(producer=number, row=row, hits=hits, tracks=tracks, name=name)
        return out.close().file_bytes


def check(producers: np.ndarray, rows: np.ndarray, events: list[Event]) -> None:
    seen = dict.fromkeys(range(PRODUCERS), 0)
    for producer, row, found in zip(producers.tolist(), rows.tolist(), events, strict=True):
        assert row == seen[producer]
        seen[producer] += 1
        assert found == event(producer, row), (producer, row)
    assert all(count == rows_of(producer) for producer, count in seen.items())


def cut(ends: np.ndarray, items: list) -> list[list]:
    return [items[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def test_h5py_reads_what_they_share(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    file_bytes = write(path)
    with h5py.File(path) as file:
        table = file["events"]
        hits = cut(table["hits/cumulative_length"][:], table["hits/flattened_data"][:].tolist())
        inner = table["tracks/flattened_data"]
        points = cut(inner["cumulative_length"][:], inner["flattened_data"][:].tolist())
        tracks = cut(table["tracks/cumulative_length"][:], points)
        text = table["name/flattened_data"][:].tobytes()
        names = [part.decode() for part in cut(table["name/cumulative_length"][:], text)]
        check(table["producer"][:], table["row"][:], list(zip(hits, tracks, names, strict=True)))
        # Those with pages of their own, and one for all others.
        assert set(table["hits/.parts/flattened_data"]) == {"3", "700", "gathered"}
        assert set(table["name/.parts/flattened_data"]) == {"3", "700", "gathered"}
    assert file_bytes < 1_500_000


def test_uproot_reads_what_they_share(tmp_path: Path) -> None:
    path = tmp_path / "run.root"
    file_bytes = write(path)
    with uproot.open(path) as file:
        ntuple = file["events"]
        assert len(ntuple.cluster_summaries) < 12
        arrays = ntuple.arrays()
    events = list(zip(arrays["hits"].to_list(), arrays["tracks"].to_list(), arrays["name"].to_list(), strict=True))
    check(np.asarray(arrays["producer"]), np.asarray(arrays["row"]), events)
    assert file_bytes < 1_500_000
