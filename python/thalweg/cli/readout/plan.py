"""thalweg readout plan"""

from dataclasses import astuple
from pathlib import Path
from typing import Annotated

import typer

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.quantities import as_bytes
from thalweg._base.stacked import Heading, StackedTable
from thalweg._readout import plan as plans
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout plan",
    "thalweg readout plan --config readout.toml --pinning auto",
    'thalweg readout plan --topology "pack:2 numa:1 l3:12 core:8 pu:2"',
]


def plan(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Configuration of the readout, which lists the handlers. The default is a number of equal handlers.",
        ),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Plan for another machine, given in hwloc's synthetic notation. The default is this one.",
        ),
    ] = "",
    pinning: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="none, auto, or processors by role, for example build=0-2,serve=3-6. The default is the pinning of "
            "--config, or auto.",
        ),
    ] = "",
    handlers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Without --config: number of handlers. The default is one per chiplet."),
    ] = None,
    build_threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, metavar="N", help="Without --config: build threads of each handler. The default is 3."
        ),
    ] = None,
    serve_threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, metavar="N", help="Without --config: serve threads of each handler. The default is 4."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Show on which processors the threads of data handlers would run: one handler per chiplet.

    A chiplet is a set of cores that share a cache. The command pins nothing: each handler pins its threads when it
    starts, as its configuration says.
    """
    machine = _core.discover(topology)
    if config is None:
        count = handlers or len(machine.chiplets)
        made = plans.of_handlers(count, build_threads or 3, serve_threads or 4, machine, pinning or "auto")
    else:
        _refuse_with_config(handlers=handlers, build_threads=build_threads, serve_threads=serve_threads)
        made = plans.of_configuration(config, machine, pinning)
    if json:
        print_json(plans.plan_facts(machine, made))
    else:
        _show(machine, made)
    say(*(f"warning: {text}" for text in made.warnings))
    return 0


def _refuse_with_config(**options: int | None) -> None:
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} cannot be given with --config (the configuration sets it): leave one of them out"
            )


def _show(machine: _core.Topology, made: _core.Plan) -> None:
    names = "handler", "chiplet", "package", "memory node", "threads that build", "threads that serve"
    shown = StackedTable([Heading(name) for name in names])
    for row in plans.rows(machine, made):
        shown.add_row(*astuple(row))
    answer(_sentence(machine), "", shown)
    if free := plans.unpinned(made):
        told = 'pinning = "auto" in the configuration gives each a chiplet of its own (--pinning auto shows it)'
        answer(f"not pinned: {', '.join(free)}; {told}")


def _sentence(machine: _core.Topology) -> str:
    chiplets, cores, processors = len(machine.chiplets), machine.core_count, machine.processor_count
    caches = sorted({chiplet.cache_bytes for chiplet in machine.chiplets} - {0})
    shared = f" with {as_bytes(caches[0])} of cache{' each' if chiplets > 1 else ''}" if len(caches) == 1 else ""
    counts = (_count(chiplets, "chiplet") + shared, _count(cores, "core"), _count(processors, "processor"))
    return f"{machine.source}: {', '.join(counts)}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def register(app: typer.Typer) -> None:
    app.command("plan", epilog=as_epilog(EXAMPLES))(plan)
