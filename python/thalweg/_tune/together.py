"""Collective calls of a traced run: what each rank has in them, which is known before the file is opened again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._trace.calls import Calls
from thalweg._trace.trace_file import Trace
from thalweg._tune.account import below
from thalweg._tune.aggregators import Part

MOST_KINDS = 200
"""So many different collective calls of a run are kept, those with most bytes."""
KINDS = ("write", "read")


@dataclass(frozen=True)
class Together:
    """Collective writes, or reads, of a file in which all ranks have the same part of the whole."""

    file: str
    """Its path from the folder."""
    parts: tuple[Part, ...]
    """By rank, from the first byte of all."""
    times: int
    kind: str = "write"
    """One of KINDS."""
    dims: tuple[int, ...] = ()
    """The extents of the Cartesian topology of the ranks that have opened the file; empty: they have none."""

    @property
    def bytes(self) -> int:
        """The bytes of one of them."""
        return sum(part.bytes for part in self.parts)

    def to_fact(self) -> dict[str, Any]:
        parts = [[part.offset, part.bytes, part.piece] for part in self.parts]
        return {"file": self.file, "times": self.times, "kind": self.kind, "dims": list(self.dims), "parts": parts}

    @classmethod
    def of_fact(cls, fact: dict[str, Any]) -> Together:
        parts, dims = tuple(Part(*each) for each in fact["parts"]), tuple(fact.get("dims", ()))
        return cls(fact["file"], parts, fact["times"], fact.get("kind", "write"), dims)


@dataclass(frozen=True)
class CollectiveCalls:
    kinds: Sequence[Together] = ()
    left_out: Sequence[str] = ()
    """Which ones are not among them, and why."""

    def to_fact(self) -> dict[str, Any]:
        return {"kinds": [each.to_fact() for each in self.kinds], "left_out": list(self.left_out)}

    @classmethod
    def of_fact(cls, fact: dict[str, Any]) -> CollectiveCalls:
        return cls([Together.of_fact(each) for each in fact["kinds"]], fact["left_out"])


def collective_calls(trace: Trace, folder: Path) -> CollectiveCalls:
    """Returns the collective writes and reads of files below the folder, those with most bytes first."""
    calls = trace.levels["mpi"]
    is_one = calls.name.matching(lambda name: "_all" in name and not name.endswith("_end"))
    calls = calls.where(is_one & (calls.result == 0))
    counts: dict[tuple[str, str, tuple[int, ...], tuple[Part, ...]], int] = {}
    left_out: list[str] = []
    for kind, number in itertools.product(KINDS, calls.files):
        name = below(trace.files[number], folder)
        if name is None:
            continue
        turns, why = _turns(calls.where((calls.file == number) & (calls.kind == kind)), kind)
        if why:
            left_out.append(f"{name}: {why}")
        extents = _topology(trace, number) if turns else ()
        for parts in turns:
            key = (name, kind, extents if math.prod(extents) == len(parts) else (), parts)
            counts[key] = counts.get(key, 0) + 1
    found = [Together(name, parts, times, kind, dims) for (name, kind, dims, parts), times in counts.items()]
    found.sort(key=lambda each: -each.bytes * each.times)
    if len(found) > MOST_KINDS:
        some = sum(each.times for each in found[MOST_KINDS:])
        left_out.append(f"{some:,} collective calls with fewer bytes than the {MOST_KINDS} kinds that are listed")
    return CollectiveCalls(found[:MOST_KINDS], left_out)


def _topology(trace: Trace, file: int) -> tuple[int, ...]:
    """Returns the extents of the topology of those who have opened the file. One that was opened by several groups of
    ranks, with other topologies, has none that all of them have."""
    texts = {each["value"] for each in trace.settings if each["origin"] == "topology" and each["file"] == file}
    return tuple(map(int, texts.pop().split())) if len(texts) == 1 else ()


def _turns(calls: Calls, kind: str) -> tuple[list[tuple[Part, ...]], str]:
    """Returns the parts of all ranks in each collective call of one file, and why there are none."""
    ranks = calls.ranks
    if not ranks:
        return [], ""
    if -1 in ranks:
        return [], "its ranks are not known, since no launcher has started them"
    of_ranks = [calls.where(calls.rank == rank).by_start() for rank in ranks]
    if len({len(each) for each in of_ranks}) > 1:
        return [], f"ranks make different numbers of collective {kind}s, so that it is not known which belong together"
    offsets = np.stack([each.offset for each in of_ranks])
    sizes = np.stack([np.maximum(each.size, 0) for each in of_ranks])
    known = ((offsets >= 0) | (sizes == 0)).all(axis=0)
    moved = (sizes > 0).any(axis=0)
    why = "" if known.all() else f"MPI does not tell the place of {int((~known).sum()):,} collective {kind}s"
    return [parts_of(offsets[:, i].tolist(), sizes[:, i].tolist()) for i in np.flatnonzero(known & moved)], why


def parts_of(offsets: Sequence[int], sizes: Sequence[int]) -> tuple[Part, ...]:
    """Returns the parts of ranks that begin at these bytes. If a rank begins inside the range of another one, the data
    of both are pieces that alternate, because ranks do not write the same bytes; the first piece ends there."""
    moved = [rank for rank, size in enumerate(sizes) if size]
    first = min((offsets[rank] for rank in moved), default=0)
    begins = sorted(offsets[rank] for rank in moved)
    found: list[Part] = []
    end = 0
    for rank, size in enumerate(sizes):
        if not size:  # it has no place, and stays with its neighbour
            found.append(Part(end, 0))
            continue
        at = offsets[rank]
        after = int(np.searchsorted(begins, at, side="right"))
        inside = begins[after] if after < len(begins) and begins[after] < at + size else None
        found.append(Part(at - first, size, None if inside is None else inside - at))
        end = at - first + found[-1].first
    return _with_last_pieces(found)


def _with_last_pieces(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The rank whose piece is last has none behind it: its piece is as long as the others, if these are equal."""
    pieces = {part.piece for part in parts if part.piece is not None}
    if len(pieces) != 1:
        return tuple(parts)
    (piece,) = pieces
    assert piece is not None
    whole = [part for part in parts if part.bytes and part.piece is None]
    return tuple(
        Part(part.offset, part.bytes, piece) if part in whole and len(whole) == 1 and part.bytes > piece else part
        for part in parts
    )
