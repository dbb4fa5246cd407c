"""Writes the page of `thalweg explain --html`: the verdict with diagrams, in one file that needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._explain.findings import call_places, data
from thalweg._explain.verdict import Verdict
from thalweg._trace.account import KINDS, Account, own_seconds, together
from thalweg._trace.calls import Calls
from thalweg._trace.own_work import Device, under_way, work_sentences
from thalweg._trace.records import IN_FLIGHT
from thalweg._trace.trace_file import Trace

_BINS = 500
_MOST_LANES, _MOST_MAPS = 64, 6
_COLUMNS, _LINES = 400, 120


def html_page(verdict: Verdict) -> str:
    """Returns the page as HTML."""
    template = (Path(__file__).parent / "page.html").read_text()
    text = json.dumps({**verdict.to_dict(), **pictures(verdict)}, separators=(",", ":"))
    # The name of a file may contain </script>.
    return template.replace("@DATA@", text.replace("<", "\\u003c"), 1)


def write_page(verdict: Verdict, path: str) -> None:
    try:
        Path(path).write_text(html_page(verdict))
    except OSError as error:
        raise SystemError(error.errno or 0, f"{path} cannot be written ({error.strerror})") from None


def pictures(verdict: Verdict) -> dict[str, Any]:
    """Returns the data of the diagrams, by the names that the page uses."""
    trace = verdict.trace
    moves = data(trace.on_disk(trace.posix))
    files, which = np.unique(moves.file, return_inverse=True)
    most = files[np.argsort(-np.bincount(which, moves.moved, minlength=len(files)), kind="stable")]
    calls, _ = together(trace)
    begin = float(calls.start.min(initial=0.0 if not len(calls) else np.inf))
    duration = max(float(calls.end.max(initial=0.0)) - begin, 1e-9)
    return {
        "timeline": _timeline(verdict, calls, begin, duration),
        "bytes": [
            {"name": _name(each), "read": each.read_bytes, "written": each.written_bytes}
            for each in _shown(verdict.accounts)
        ],
        "own_work": [
            {"name": _name(each), "sentences": list(work_sentences(each.own_work, each.device))}
            for each in _shown(verdict.accounts)
            if each.own_work or each.device
        ],
        "maps": [_map(trace, int(file), begin, duration) for file in most[:_MOST_MAPS]],
        "maps_left_out": max(0, len(most) - _MOST_MAPS),
        "sizes": _sizes(moves),
    }


def _name(account: Account) -> str:
    return f"rank {account.rank}" if account.rank >= 0 else f"process {account.pid}"


def _shown(accounts: list[Account]) -> list[Account]:
    """Returns the accounts that spend most time in calls, in the order of ranks."""
    most = sorted(accounts, key=lambda each: each.outside_s - each.elapsed_s)[:_MOST_LANES]
    return sorted(most, key=lambda each: (each.rank, each.process))


def _timeline(verdict: Verdict, calls: Calls, begin: float, duration: float) -> dict[str, Any]:
    own, trace = own_seconds(calls), verdict.trace
    lanes, kinds = [], set()
    for account in _shown(verdict.accounts):
        mine = calls.process == account.process
        cells = _cells(calls.where(mine), own[mine], begin, duration)
        kinds |= {cell[1] for cell in cells}
        lanes.append({"name": _name(account), "cells": cells})
        writes = trace.in_flight.where(trace.in_flight.process == account.process)
        if account.device is not None:
            lanes.append({"name": "async writes", "cells": _device_cells(writes, account.device, begin, duration)})
            kinds.add(IN_FLIGHT)
    return {
        "bins": _BINS,
        "duration_s": duration,
        "kinds": [kind for kind in (*KINDS, IN_FLIGHT) if kind in kinds],
        "lanes": lanes,
        "left_out": len(verdict.accounts) - len(lanes),
    }


def _cells(calls: Calls, own: npt.NDArray[np.float64], begin: float, duration: float) -> list[list[Any]]:
    """Returns the cells of one process: bin, kind, fraction of the bin, and the fraction at which the cell begins."""
    width = duration / _BINS
    threads = max(1, len(np.unique(calls.thread)))
    height = np.zeros(_BINS)
    cells: list[list[Any]] = []
    for kind in KINDS:
        chosen = calls.kind == kind
        shares = _spread(calls.start[chosen] - begin, calls.duration[chosen], own[chosen], width) / width / threads
        for index in np.flatnonzero(shares > 0.002):
            share = float(min(shares[index], 1 - height[index]))
            cells.append([int(index), kind, round(share, 4), round(float(height[index]), 4)])
            height[index] += share
    return cells


def _device_cells(writes: Calls, device: Device, begin: float, duration: float) -> list[list[Any]]:
    """Returns cells whose height is the mean number of writes under way, relative to the largest number."""
    at, count = under_way(writes)
    total = np.r_[0.0, np.cumsum(count[:-1] * np.diff(at))]
    edges = begin + np.arange(_BINS + 1) * duration / _BINS
    share = np.diff(np.interp(edges, at, total)) / (duration / _BINS) / device.most_at_once
    return [[int(index), IN_FLIGHT, round(float(share[index]), 4), 0.0] for index in np.flatnonzero(share > 0.002)]


def _spread(
    start: npt.NDArray[np.float64], took: npt.NDArray[np.float64], own: npt.NDArray[np.float64], width: float
) -> npt.NDArray[np.float64]:
    """Returns the time of calls in each bin. The own time of a call is spread evenly over its duration."""
    edges = np.arange(_BINS + 1) * width
    density = np.divide(own, took, out=np.zeros_like(own), where=took > 0)
    # The integral of all densities up to each edge is computed from the sorted starts and ends.
    times = np.r_[start, start + took]
    order = np.argsort(times, kind="stable")
    slopes = np.cumsum(np.r_[density, -density][order])
    at = times[order]
    if not len(at):
        return np.zeros(_BINS)
    total = np.r_[0.0, np.cumsum(slopes[:-1] * np.diff(at))]
    spread: npt.NDArray[np.float64] = np.maximum(0.0, np.diff(np.interp(edges, at, total)))
    return spread


def _map(trace: Trace, file: int, start: float, duration: float) -> dict[str, Any]:
    calls = trace.posix.where(trace.posix.file == file)
    at = np.zeros(len(calls), np.int64)
    for process in np.unique(calls.process):
        mine = calls.process == process
        at[mine] = call_places(calls.where(mine))
    is_move = calls.kind.isin(("read", "write")) & (calls.moved > 0)
    moves, at = calls.where(is_move), at[is_move]
    end = int((at + moves.moved).max(initial=1))
    column = ((moves.start - start) / duration * _COLUMNS).astype(int).clip(0, _COLUMNS - 1)
    cells: set[tuple[int, int, str]] = set()
    first, after = at * _LINES // end, -(-(at + moves.moved) * _LINES // end)
    for kind in ("read", "write"):
        chosen = moves.kind == kind
        ranges = np.unique(np.stack([column[chosen], first[chosen], after[chosen]], axis=1), axis=0)
        cells |= {(int(c), line, kind) for c, low, high in ranges for line in range(int(low), min(int(high), _LINES))}
    return {
        "file": trace.files[file],
        "calls": len(moves),
        "end": end,
        "columns": _COLUMNS,
        "lines": _LINES,
        "cells": sorted(cells),
    }


def _sizes(moves: Calls) -> list[dict[str, int]]:
    """Returns the number of calls that moved at least 2^power and less than 2^(power + 1) bytes, for each power."""
    some = moves.where(moves.moved > 0)
    power = np.frexp(some.moved.astype(np.float64))[1] - 1
    read, written = (np.bincount(power[some.kind == kind], minlength=1) for kind in ("read", "write"))
    count = max(len(read), len(written))
    read, written = (np.pad(each, (0, count - len(each))) for each in (read, written))
    lowest = int(power.min(initial=count))
    return [{"power": i, "read": int(read[i]), "written": int(written[i])} for i in range(lowest, count)]
