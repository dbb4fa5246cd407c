"""Decides which part of the machine each handler gets: by the plan of `thalweg readout plan`, and by its memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from thalweg import _core
from thalweg._readout.host.groups import Share

AUTO, NONE = "auto", "none"
_PROGRAM_BYTES = 512 << 20  # the interpreter, its libraries, stacks, a hook of ordinary size
_PAGE_BYTES = 1 << 21


def only(tables: dict[str, Any], names: Sequence[str], pinning: str) -> str:
    """Returns the configuration of these handlers alone, as JSON.

    Handlers for which the file names no pinning get `pinning`, unless it is empty."""
    kept = []
    for position, table in enumerate(tables["handler"]):
        name = str(table.get("name", f"dh{position}"))
        if name in names:
            given = table.get("pinning", tables.get("readout", {}).get("pinning", NONE))
            kept.append({**table, "name": name, "pinning": pinning if pinning and given == NONE else given})
    return json.dumps({**tables, "handler": kept})


def pinnings_of(alone: str) -> dict[str, str]:
    return {table["name"]: table["pinning"] for table in json.loads(alone)["handler"]}


def planned(
    alone: str, topology: _core.Topology, memory_bytes: dict[str, int]
) -> tuple[dict[str, Share], Sequence[str]]:
    """Returns the share of each handler, and the warnings of the plan. `memory_bytes` is each one's limit; 0: none."""
    plan = _core.place_configured(alone, topology, "")
    seats: dict[str, list[_core.Placement]] = {name: [] for name in memory_bytes}
    for seat in plan.placements:
        seats[seat.application].append(seat)
    users = [{seat.chiplet for seat in of_one if seat.processors} for of_one in seats.values()]
    shares = {}
    for name, of_one in seats.items():
        processors = _processors(of_one, topology, users)
        nodes = {chiplet.numa_node for chiplet in topology.chiplets if _has_some_of(chiplet, processors)}
        shares[name] = Share(processors, sorted(nodes), memory_bytes[name])
    return shares, plan.warnings


def limits(handlers: Sequence[_core.HandlerConfig], names: Sequence[str], given: int | None) -> dict[str, int]:
    """Returns the memory limit of each handler: `given`, or what its configuration can need if that is None."""
    return {
        handler.name: given if given is not None else _needed_bytes(handler)
        for handler in handlers
        if handler.name in names
    }


def _needed_bytes(handler: _core.HandlerConfig) -> int:
    answers = handler.queued_total_bytes * 3 // 2  # half as much again is for collectors on this host
    needed = handler.index_bytes + answers + _PROGRAM_BYTES
    return -(-needed // _PAGE_BYTES) * _PAGE_BYTES


def _processors(seats: Sequence[_core.Placement], topology: _core.Topology, users: Sequence[set[int]]) -> Sequence[int]:
    """Returns the processors of one handler: those of its threads, and of a chiplet that no other has all of them.

    Its other threads run there, too. A handler that has threads which may run anywhere gets none of its own."""
    if not seats or not all(seat.processors for seat in seats):
        return ()
    found = {processor for seat in seats for processor in seat.processors}
    for number in {seat.chiplet for seat in seats}:
        if sum(number in of_one for of_one in users) == 1:
            found |= {processor for core in topology.chiplets[number].cores for processor in core}
    return sorted(found)


def _has_some_of(chiplet: _core.Chiplet, processors: Sequence[int]) -> bool:
    return any(processor in processors for core in chiplet.cores for processor in core)
