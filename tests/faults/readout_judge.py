"""Compares a collector's file with what the emulated card sends, without the decoder."""

from dataclasses import dataclass, fields
from pathlib import Path

import awkward as ak
import numpy as np
import numpy.typing as npt
from readout_programs import Readout

import thalweg

HEADER = np.dtype([
    ("marker", "<u4"), ("version", "<u2"), ("header_bytes", "<u2"), ("length_bytes", "<u4"), ("status", "<u4"),
    ("event", "<u8"), ("run", "<u4"), ("source_id", "<u4"), ("stream_map", "<u8"), ("enabled_map", "<u8"),
    ("bcid", "<u2"), ("stream_count", "<u2"), ("trigger_type", "<u4"), ("build_us", "<u4"), ("checksum", "<u4"),
])  # fmt: skip
PACKET_HEAD = np.dtype([("l1id", "<u4"), ("elink", "<u2"), ("bcid", "<u2")])
INCOMPLETE, TIMED_OUT, DEAD_LINK, RESTART = (1 << bit for bit in range(4))
BUNCH_CROSSINGS = 3564
EPOCH = np.uint64(1 << 32)

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """All fragments of a file, each checked."""

    event: Numbers
    state: Numbers
    status: Numbers
    fragment_event: Numbers  # for every fragment
    fragment_status: Numbers
    payload_event: Numbers  # for every payload
    payload_elink: Numbers

    @classmethod
    def together(cls, parts: "list[Events]") -> "Events":
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    @property
    def epochs(self) -> list[int]:
        return [int(epoch) for epoch in np.unique(self.event >> 32)]

    def of_epoch(self, epoch: int) -> Numbers:
        """Returns the lower 32 bits, in order."""
        return np.sort(self.event[self.event >> 32 == epoch] & 0xFFFFFFFF)

    def packets_of(self, elink: int) -> int:
        return int(np.count_nonzero(self.payload_elink == elink))


def structs(flat: npt.NDArray[np.uint8], begins: Numbers, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Returns the names that occur in these bytes, at any place."""
    bytes_of_each = flat[begins[:, None] + np.arange(dtype.itemsize)]
    return np.ascontiguousarray(bytes_of_each).view(dtype).reshape(-1)


def starts(lengths: Numbers) -> Numbers:
    return np.cumsum(lengths) - lengths


def expect_right(path: Path, readout: Readout, run: int = 1) -> Events:
    rows = thalweg.open(path)["events"].read().to_awkward()
    event, state, status = (rows[name].to_numpy().astype(np.int64) for name in ("event", "state", "status"))
    assert len(np.unique(event)) == len(event), "an event is there twice"
    assert (rows.run.to_numpy() == run).all()
    assert (rows.l1id.to_numpy() == event & 0xFFFFFFFF).all()
    assert (rows.bcid.to_numpy() == (event & 0xFFFFFFFF) * 40 % BUNCH_CROSSINGS).all()

    counts = ak.num(rows.fragments).to_numpy()
    data = ak.flatten(rows.fragments.data, axis=1)
    lengths = ak.num(data).to_numpy().astype(np.int64)
    flat = ak.flatten(data).to_numpy()
    owner = np.repeat(np.arange(len(event)), counts)
    headers = expect_headers(flat, starts(lengths), event[owner], run, readout)
    assert (headers["length_bytes"] == lengths).all()
    assert (ak.flatten(rows.fragments.source_id).to_numpy() == headers["source_id"]).all()
    assert (ak.flatten(rows.fragments.status).to_numpy() == headers["status"]).all()
    pairs = owner * len(readout.sources) + headers["source_id"]
    assert len(np.unique(pairs)) == len(pairs), "a fragment is there twice"
    together = np.zeros(len(event), np.int64)
    np.bitwise_or.at(together, owner, headers["status"].astype(np.int64))
    assert (status & together == together).all()
    whole = np.bincount(owner, headers["status"] & INCOMPLETE == 0, len(event)) == len(readout.sources)
    np.testing.assert_array_equal(state == 0, whole)

    payload_event, payload_elink = expect_payloads(flat, starts(lengths), headers, readout)
    fragment_status = headers["status"].astype(np.int64)
    return Events(event, state, status, event[owner], fragment_status, payload_event, payload_elink)


def expect_headers(
    flat: npt.NDArray[np.uint8], begins: Numbers, event: Numbers, run: int, readout: Readout
) -> npt.NDArray[np.void]:
    headers = structs(flat, begins, HEADER)
    assert (headers["marker"] == 0x46475754).all()
    assert (headers["event"] == event).all(), "a fragment is of another event"
    assert (headers["run"] == run).all()
    assert np.isin(headers["source_id"], readout.sources).all()
    assert (headers["stream_count"] == readout.links).all()
    assert (headers["enabled_map"] == (1 << readout.links) - 1).all()
    missing = headers["stream_map"] != headers["enabled_map"]
    np.testing.assert_array_equal(headers["status"] & INCOMPLETE != 0, missing)
    assert (headers["status"] & ~np.uint32(INCOMPLETE | TIMED_OUT | DEAD_LINK | RESTART) == 0).all()
    return headers


def expect_payloads(
    flat: npt.NDArray[np.uint8], begins: Numbers, headers: npt.NDArray[np.void], readout: Readout
) -> tuple[Numbers, Numbers]:
    """Checks that every byte of every payload is as thalweg/felix/packet.h says. Returns their events and e-links."""
    entry = np.dtype([("offset", "<u2", readout.links * 2)])
    entries = structs(flat, begins + HEADER.itemsize, entry)["offset"].reshape(-1, readout.links, 2).astype(np.int64)
    is_there = headers["stream_map"][:, None] >> np.arange(readout.links, dtype=np.uint64) & np.uint64(1) != 0
    np.testing.assert_array_equal(entries[:, :, 0] != 0, is_there)
    fragment, stream = np.nonzero(is_there)
    at = begins[fragment] + 4 * entries[fragment, stream, 0]
    length = entries[fragment, stream, 1]
    event = headers["event"][fragment].astype(np.int64)
    elink = headers["source_id"][fragment].astype(np.int64) * readout.links + stream
    l1id = event & 0xFFFFFFFF

    heads = structs(flat, at, PACKET_HEAD)
    assert (heads["l1id"] == l1id).all(), "a packet is in another event's fragment"
    assert (heads["elink"] == elink).all(), "a packet is in another stream's place"
    assert (heads["bcid"] == l1id * 40 % BUNCH_CROSSINGS).all()
    for some in np.array_split(np.arange(len(at)), len(at) // 20_000 + 1):
        expect_pattern(flat, at[some], length[some], elink[some])
    return event, elink


def expect_pattern(flat: npt.NDArray[np.uint8], at: Numbers, length: Numbers, elink: Numbers) -> None:
    index = np.arange(length.sum()) - np.repeat(starts(length), length)
    expected = (np.repeat(elink * 31 + length * 7, length) + index) % 256
    is_pattern = index >= PACKET_HEAD.itemsize
    found = flat[np.repeat(at, length) + index]
    np.testing.assert_array_equal(found[is_pattern], expected[is_pattern])
