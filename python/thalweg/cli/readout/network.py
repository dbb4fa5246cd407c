"""thalweg readout network"""

import json as json_module
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.stacked import Heading, StackedTable
from thalweg._readout import configuration
from thalweg._readout.host import belonging, shares
from thalweg._readout.network import formats
from thalweg._readout.network.applying import NetworkReport, State, apply, check, revert
from thalweg._readout.network.cards import Card
from thalweg._readout.network.disturbers import warnings_of
from thalweg._readout.network.journal import Journal
from thalweg._readout.network.machine import Machine
from thalweg._readout.network.planning import NetworkPlan, plan_of
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout network --plan --config readout.toml --interface eth4",
    "thalweg readout network --apply --config readout.toml --interface eth4",
    "thalweg readout network --check",
    "thalweg readout network --revert",
]
_JOURNAL = Path("/var/lib/thalweg/network.json")


class Format(StrEnum):
    TABLE = "table"
    SHELL = "shell"
    TUNED = "tuned"


def network(
    plan: Annotated[
        bool, typer.Option("--plan", show_default=False, help="Show what would be set, and why. This is the default.")
    ] = False,
    apply_: Annotated[
        bool, typer.Option("--apply", show_default=False, help="Set it, read it back, and say what became of it.")
    ] = False,
    check_: Annotated[
        bool, typer.Option("--check", show_default=False, help="Say whether what was applied is still in effect.")
    ] = False,
    revert_: Annotated[
        bool, typer.Option("--revert", show_default=False, help="Restore all values of before --apply.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration of the readout, which --plan and --apply need.", metavar="FILE.toml"),
    ] = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(help="Interface to which collectors connect. Can be repeated.", metavar="NAME"),
    ] = None,
    handler: Annotated[
        list[str] | None,
        typer.Option(
            help="Handler of this host. Can be repeated. The default is those whose address is one of this host.",
            metavar="NAME",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Take the handlers whose address has this host, as it is written there.", metavar="NAME")
    ] = "",
    pinning: Annotated[
        str,
        typer.Option(
            help="auto: handlers for which the configuration names no pinning are pinned as `thalweg readout host` "
            "does. none: they run anywhere, and no interrupt is placed near them.",
            metavar="auto|none",
        ),
    ] = shares.AUTO,
    format_: Annotated[
        Format, typer.Option("--format", help="How the plan is shown. tuned: a profile of TuneD, into --out.")
    ] = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Folder of the TuneD profile. It is made.", metavar="FOLDER")] = None,
    journal: Annotated[
        Path, typer.Option(help="File that keeps the values of before, until they are restored.", metavar="FILE")
    ] = _JOURNAL,
    json: JsonOption = False,
) -> int:
    """Plan the settings of network cards and kernel for the handlers of this host, apply, check and revert them.

    Interrupts and queues are placed on the processors whose threads serve. Applying writes a journal first, and reads
    each value back. Reverting restores all values of settings that are still there, also if applying was killed. Both
    need the rights of root.
    """
    _check_modes(plan=plan, apply=apply_, check=check_, revert=revert_)
    machine, kept = Machine(), Journal(journal)
    if check_ or revert_:
        report = check(machine, kept) if check_ else revert(machine, kept)
        return _told(machine, report, json, State.OVERRIDDEN if check_ else State.REFUSED)
    planner = _planner(machine, config, interface or [], handler or [], host, pinning)
    if apply_:
        return _told(machine, apply(machine, planner, kept), json, State.REFUSED)
    _show(machine, planner(())[0], format_, out, json)
    return 0


def _check_modes(**modes: bool) -> None:
    given = [f"--{name}" for name, is_given in modes.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be done together: give one of them")


def _planner(
    machine: Machine, config: Path | None, interfaces: Sequence[str], handlers: Sequence[str], host: str, pinning: str
) -> Callable[[Collection[str]], tuple[NetworkPlan, list[Card]]]:
    if config is None:
        raise UsageError("there are no handlers to plan for: give --config FILE.toml")
    if not interfaces:
        raise UsageError(f"there is no interface to plan for: give --interface ({', '.join(machine.cards())})")
    if pinning not in (shares.AUTO, shares.NONE):
        raise UsageError(f"--pinning {pinning} is neither auto nor none: write other pinnings into the configuration")
    tables = json_module.loads(configuration.load_configuration(config).json)
    names = belonging.chosen(belonging.handlers_of(tables), handlers, host, config)
    topology = _core.discover("")
    with configuration.naming(config):
        pinned = _core.place_configured(shares.only(tables, names, pinning), topology, "")
    once = list(dict.fromkeys(interfaces))
    return lambda settled: plan_of(machine, topology, pinned, once, settled)


def _show(machine: Machine, made: NetworkPlan, format_: Format, out: Path | None, json: bool) -> None:
    warnings = [*made.warnings, *warnings_of(machine)]
    if format_ is Format.TUNED:
        if out is None:
            raise UsageError("a profile of TuneD is a folder: give --out FOLDER, for example /etc/tuned/thalweg")
        formats.write_tuned(made, out)
    elif json:
        print_json(made.to_dict() | {"warnings": warnings})
    elif format_ is Format.SHELL:
        answer(formats.as_shell(made).rstrip("\n"))
    else:
        _show_table(made)
    say(*(f"warning: {text}" for text in warnings))


def _show_table(made: NetworkPlan) -> None:
    if made.changes:
        table = StackedTable(
            [Heading("what"), Heading("from"), Heading("to"), Heading("source"), Heading("why", is_folded=True)]
        )
        for each in made.changes:
            table.add_row(each.setting.what, each.before, each.after, each.source, each.why)
        answer(table)
    else:
        answer("all settings are as they should be: there is nothing to change")
    if made.kept:
        answer("", f"as it should be: {', '.join(f'{each.setting.what} = {each.after}' for each in made.kept)}")
    if made.absent:
        answer("", *(f"not on this machine: {each.setting.what} ({each.reason})" for each in made.absent))


def _told(machine: Machine, report: NetworkReport, json: bool, bad: State) -> int:
    warnings = [*report.warnings, *warnings_of(machine)]
    if json:
        print_json({"settings": [each.to_dict() for each in report.outcomes], "warnings": warnings})
    elif report.outcomes:
        names = "what", "before", "wanted", "found", "state"
        table = StackedTable([*map(Heading, names), Heading("why", is_folded=True)])
        for each in report.outcomes:
            table.add_row(each.setting.what, each.before, each.wanted, each.found, str(each.state), each.reason)
        answer(table)
    else:
        answer("all settings are as they should be: nothing was changed")
    say(*(f"warning: {text}" for text in warnings))
    return 1 if report.has_some(bad, State.REFUSED, State.UNFINISHED) else 0


def register(app: typer.Typer) -> None:
    app.command("network", epilog=as_epilog(EXAMPLES))(network)
