"""Evaluates what Thalweg reported about its own work in a traced process: work without calls, asynchronous writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._base.quantities import as_bytes
from thalweg._trace.calls import Calls

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """The sum of all work of one kind, such as encode_page or wait_for_memory."""

    name: str
    count: int
    seconds: float
    """The time of all threads in seconds, without calls and other work inside it."""
    bytes: int
    """The bytes that went in: raw ones for encoding, stored ones for decoding."""
    result_bytes: int
    """The bytes that came out: stored ones for encoding, raw ones for decoding; 0 for other work."""


@dataclass(frozen=True)
class Device:
    """Asynchronous writes, each from its submission until its end was noticed."""

    writes: int
    bytes: int
    mean_s: float
    longest_s: float
    busy_s: float
    """The time in which at least one write was under way, in seconds."""
    at_once: float
    """The mean number of writes under way during that time."""
    most_at_once: int
    failed: int


def work_of(calls: Calls, own: Seconds) -> list[Work]:
    """Returns the work of one process, longest first, from its calls of level `work` and the own time of each."""
    found = []
    for name in calls.name.unique():
        chosen = calls.name == name
        result = int(calls.result[chosen].clip(0).sum()) if name in ("encode_page", "decode_page") else 0
        size = int(calls.size[chosen].clip(0).sum())
        found.append(Work(name, int(chosen.sum()), float(own[chosen].sum()), size, result))
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
    """Returns the sorted times at which writes began or ended, and the number of writes under way from each time on."""
    times = np.r_[writes.start, writes.end]
    steps = np.repeat(np.array([1, -1]), len(writes))
    order = np.lexsort((steps, times))  # at equal times, ends count before begins
    return times[order], np.cumsum(steps[order])


def places_of(writes: Calls) -> npt.NDArray[np.int64]:
    """Returns the lane of each write, the lowest one that is free. Viewers show one line for each lane."""
    free_from: list[float] = []
    found = np.zeros(len(writes), np.int64)
    starts, ends = writes.start, writes.end
    for index in np.argsort(starts, kind="stable"):
        start, end = float(starts[index]), float(ends[index])
        place = next((i for i, free in enumerate(free_from) if free <= start), len(free_from))
        if place == len(free_from):
            free_from.append(end)
        free_from[place] = end
        found[index] = place
    return found


def work_sentences(work: list[Work], device: Device | None) -> Iterator[str]:
    """Yields sentences about the work and the writes, if there were any."""
    told = [_told(each) for each in work if each.seconds >= 0.0005]
    if told:
        yield f"own work of Thalweg: {', '.join(told)}"
    if device is not None:
        failed = f"; {device.failed:,} failed" if device.failed else ""
        yield (
            f"asynchronous writes: {device.writes:,} ({as_bytes(device.bytes)}), each under way for "
            f"{1e3 * device.mean_s:.3g} ms on average; at least one was under way for {device.busy_s:.3g} s, with "
            f"{device.at_once:.3g} at a time on average and {device.most_at_once} at most{failed}"
        )


def _told(work: Work) -> str:
    size = f" of {as_bytes(work.bytes)}" if work.bytes else ""
    result = f" to {as_bytes(work.result_bytes)}" if work.result_bytes else ""
    return f"{work.name} {work.seconds:.3g} s ({work.count:,}{size}{result})"
