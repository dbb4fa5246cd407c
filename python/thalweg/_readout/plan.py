"""Plans where the threads of handlers run, by the rules of thalweg/machine/pinning.h and
thalweg/readout/handler/placement.h."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._readout import configuration

BUILD, SERVE = "build", "serve"


@dataclass(frozen=True)
class Row:
    """One handler in the table of the plan."""

    handler: str
    chiplets: str
    package: str
    memory_node: str
    build: str
    serve: str


def of_configuration(path: Path, topology: _core.Topology, pinning: str = "") -> _core.Plan:
    """Returns the plan for the handlers of a configuration. `pinning` overrides that of the file, if it is given."""
    tables = json.loads(configuration.load_configuration(path).json)
    for table in (tables, *tables["handler"]):  # a plan needs no secret, and not each machine has it
        if isinstance(server := table.get("server"), dict):
            server.pop("token_file", None)
    with configuration.naming(path):
        return _core.place_configured(json.dumps(tables), topology, pinning)


def of_handlers(
    count: int, build_threads: int, serve_threads: int, topology: _core.Topology, pinning: str = "auto"
) -> _core.Plan:
    """Returns the plan for a number of equal handlers."""
    return _core.place_alike(count, build_threads, serve_threads, topology, pinning)


def unpinned(plan: _core.Plan) -> list[str]:
    """Returns the names of the handlers that have no pinned thread."""
    return [handler for handler, seats in _by_handler(plan) if not any(seat.processors for seat in seats)]


def rows(topology: _core.Topology, plan: _core.Plan) -> Iterator[Row]:
    for handler, seats in _by_handler(plan):
        numbers = sorted({seat.chiplet for seat in seats if seat.processors})
        chiplets = [topology.chiplets[number] for number in numbers]
        yield Row(
            handler=handler,
            chiplets=_core.processors_text(numbers),
            package=_core.processors_text(sorted({chiplet.package for chiplet in chiplets})),
            memory_node=_core.processors_text(sorted({chiplet.numa_node for chiplet in chiplets})),
            build=_of_role(seats, BUILD),
            serve=_of_role(seats, SERVE),
        )


def plan_facts(topology: _core.Topology, plan: _core.Plan) -> dict[str, Any]:
    """Returns machine and plan as plain values, for JSON."""
    chiplets = [
        {"package": each.package, "numa_node": each.numa_node, "cache_bytes": each.cache_bytes, "cores": each.cores}
        for each in topology.chiplets
    ]
    threads = [
        {
            "handler": seat.application,
            "role": seat.role,
            "thread": seat.thread,
            "chiplet": seat.chiplet if seat.processors else None,
            "processors": seat.processors,
        }
        for seat in plan.placements
    ]
    return {"topology": topology.source, "chiplets": chiplets, "threads": threads, "warnings": plan.warnings}


def _by_handler(plan: _core.Plan) -> Iterator[tuple[str, list[_core.Placement]]]:
    for handler, seats in groupby(plan.placements, key=lambda seat: seat.application):
        yield handler, list(seats)


def _of_role(seats: list[_core.Placement], role: str) -> str:
    """Returns the processors of each thread, such as "0-1 2-3", or "8-9 (4 threads)" for threads that share them."""
    texts = [_core.processors_text(seat.processors) or "anywhere" for seat in seats if seat.role == role]
    runs = [(text, len(list(run))) for text, run in groupby(texts)]
    return " ".join(text if count == 1 else f"{text} ({count} threads)" for text, count in runs)
