"""What Thalweg said of its own work in a traced process: what no call shows, and its writes that were under way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._explain.trace_file import Calls
from thalweg._recording.units import as_bytes

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """All of one kind: encode_page, wait_for_memory, ..."""

    name: str
    count: int
    seconds: float
    """Of all threads, without what was done in calls and other work within it."""
    bytes: int
    """What it was about: of encoding, raw bytes, of decoding, stored ones."""
    result_bytes: int
    """Of encoding, stored bytes, of decoding, raw ones; 0 of all else."""


@dataclass(frozen=True)
class Device:
    """Writes from their submission until their end was noticed."""

    writes: int
    bytes: int
    mean_s: float
    longest_s: float
    busy_s: float
    """In which at least one was under way."""
    at_once: float
    """How many were, on average over that time."""
    most_at_once: int
    failed: int


def work_of(calls: Calls, own: Seconds) -> list[Work]:
    """`calls`: of the level work, of one process; `own`: the seconds of each in itself. What took longest first."""
    found = []
    for name in np.unique(calls.name):
        chosen = calls.name == name
        result = int(calls.result[chosen].clip(0).sum()) if name in ("encode_page", "decode_page") else 0
        size = int(calls.size[chosen].clip(0).sum())
        found.append(Work(str(name), int(chosen.sum()), float(own[chosen].sum()), size, result))
    return sorted(found, key=lambda each: -each.seconds)


def device_of(writes: Calls) -> Device | None:
    if not len(writes):
        return None
    at, count = under_way(writes)
    took = np.diff(at)
    busy = float(took[count[:-1] > 0].sum())
    return Device(
        len(writes),
        int(writes.moved.sum()),
        float(writes.duration.mean()),
        float(writes.duration.max()),
        busy,
        float((took * count[:-1]).sum()) / busy if busy > 0 else 0.0,
        int(count.max()),
        int((writes.error != 0).sum()),
    )


def under_way(writes: Calls) -> tuple[Seconds, npt.NDArray[np.int64]]:
    """The times at which writes began or ended, in order, and how many were under way from each of them on."""
    times = np.r_[writes.start, writes.end]
    steps = np.repeat(np.array([1, -1]), len(writes))
    order = np.lexsort((steps, times))  # what ends makes room for what begins at that time
    return times[order], np.cumsum(steps[order])


def places_of(writes: Calls) -> npt.NDArray[np.int64]:
    """For each write the lowest place that no other one has meanwhile: viewers show one line a place."""
    free_from: list[float] = []
    found = np.zeros(len(writes), np.int64)
    for index in np.argsort(writes.start, kind="stable"):
        start, end = float(writes.start[index]), float(writes.end[index])
        place = next((i for i, free in enumerate(free_from) if free <= start), len(free_from))
        if place == len(free_from):
            free_from.append(end)
        free_from[place] = end
        found[index] = place
    return found


def sentences(work: list[Work], device: Device | None) -> Iterator[str]:
    """For people; nothing where there was none of it."""
    told = [_told(each) for each in work if each.seconds >= 0.0005]
    if told:
        yield f"Thalweg's own work in it: {', '.join(told)}"
    if device is not None:
        failed = f"; {device.failed:,} failed" if device.failed else ""
        yield (
            f"its writes: {device.writes:,} of {as_bytes(device.bytes)}, each under way for "
            f"{1e3 * device.mean_s:.3g} ms on average; at least one in {device.busy_s:.3g} s, "
            f"{device.at_once:.3g} at once then, {device.most_at_once} at most{failed}"
        )


def _told(work: Work) -> str:
    size = f" of {as_bytes(work.bytes)}" if work.bytes else ""
    result = f" to {as_bytes(work.result_bytes)}" if work.result_bytes else ""
    return f"{work.name} {work.seconds:.3g} s ({work.count:,}{size}{result})"
