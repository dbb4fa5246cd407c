"""thalweg topology"""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.errors import DataError, SystemError, UsageError  # noqa: A004
from thalweg._base.processors import processors_of
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg topology --picture cores.png",
    "thalweg topology --save cores.json --ranks 8 --aggregators 2",
    "thalweg topology --matrix cores.json --ranks 8 --format openmpi",
]
FORMATS = ("mpich", "openmpi", "slurm", "readout")


def topology(
    cores: Annotated[
        str, typer.Option("--cores", metavar="LIST", help="Processors to measure, for example 0-3,8. Default: all.")
    ] = "",
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="COUNT", help="Number of round trips in one attempt; at least 4.")
    ] = 50,
    attempts: Annotated[
        int,
        typer.Option("--attempts", metavar="COUNT", help="Most attempts to measure a pair until its times are steady."),
    ] = 10,
    matrix: Annotated[
        str | None,
        typer.Option("--matrix", metavar="FILE", help="Read the matrix from a file of --save and measure nothing."),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(
            "--machine",
            metavar="TEXT",
            help="With --matrix: the machine of the matrix, given in hwloc's synthetic notation.",
        ),
    ] = "",
    save: Annotated[str | None, typer.Option("--save", metavar="FILE", help="Write the matrix as JSON.")] = None,
    picture: Annotated[str | None, typer.Option("--picture", metavar="FILE", help="Draw the matrix as a PNG.")] = None,
    ranks: Annotated[
        int, typer.Option("--ranks", metavar="COUNT", help="Number of MPI ranks to plan. 0: make no plan.")
    ] = 0,
    aggregators: Annotated[
        int, typer.Option("--aggregators", metavar="COUNT", help="Number of aggregators among the ranks.")
    ] = 1,
    no_split: Annotated[
        bool,
        typer.Option(
            "--all-ranks",
            show_default=False,
            help="Let every rank create and write. Otherwise half of the ranks create and the others write.",
        ),
    ] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"Format of the plan on stdout: {', '.join(FORMATS)}.")
    ] = "mpich",
    json: JsonOption = False,
) -> int:
    """Measure the time that a cache line takes between each pair of processors, and plan MPI ranks with it.

    A pair is measured again until its 75th percentile is at most 1.1 times its 25th. With --ranks, the plan is written
    to stdout: options for mpiexec (mpich) or srun (slurm), a rankfile (openmpi), or a pinning (readout). A creator and
    its writer share a cache if possible, and the first aggregators are in different clusters of cores.
    """
    from thalweg._topology.command import files_of, find_plan
    from thalweg._topology.matrix import measure, of_json, usable_cores
    from thalweg._topology.picture import draw_latencies

    if form not in FORMATS:
        raise UsageError(f"there is no format '{form}': the formats are {', '.join(FORMATS)}")
    if machine and matrix is None:
        raise UsageError("--machine is given without --matrix (it describes the machine of a matrix): give both")
    if rounds < 4 or attempts < 1:
        raise UsageError(f"--rounds {rounds} --attempts {attempts} is too few: give at least 4 rounds and 1 attempt")
    measured = of_json(matrix) if matrix else measure(_cores(cores) or usable_cores(), rounds, attempts)
    findings = find_plan(measured, machine)
    plan = findings.plan(ranks, aggregators, split=not no_split) if ranks else None
    if save is not None:
        try:
            Path(save).write_text(measured.to_json())
        except OSError as error:
            raise SystemError(error.errno or 0, f"{save} cannot be written ({error.strerror})") from None
    if picture is not None:
        draw_latencies(measured, picture)
    if json:
        facts = findings.to_dict() | {"matrix": json_text.loads(measured.to_json())}
        if plan is not None:
            facts["plan"] = vars(plan) | {"files": files_of(plan, findings.machine["host"])}
        print_json(facts)
        return 0
    if plan is None:
        answer(*findings.lines())
    else:
        say(*findings.lines())
        for warning in plan.warnings:
            say(f"warning: {warning}")
        say(
            f"creators: ranks {_listed(plan.creators)}; writers: ranks {_listed(plan.writers)}; aggregators: ranks "
            f"{_listed(plan.aggregators)}; left for the system: cores {_listed(plan.system) or 'none'}"
        )
        print(files_of(plan, findings.machine["host"])[form].rstrip("\n"))
    return 0


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _cores(text: str) -> list[int]:
    try:
        return sorted(set(processors_of(text)))
    except DataError:
        raise UsageError(f"--cores {text} is not a list of cores: write it like 0-3,8") from None


def register(app: typer.Typer) -> None:
    app.command("topology", epilog=as_epilog(EXAMPLES))(topology)
