"""thalweg tune"""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg tune -- python3 write.py",
    "thalweg tune --screen -- python3 write.py",
    "thalweg tune --try sieve_buf_size=4MiB --pairs 10 -- python3 write.py",
    "thalweg tune --list",
]


def tune(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", show_default=False, help="The command, with its arguments."),
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try", metavar="NAME=VALUE", help="The setting to try. Several are tried together. Can be repeated."
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--list", show_default=False, help="List the settings, and end.")] = False,
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs",
            metavar="N",
            show_default=False,
            help="Most pairs of timed runs, one without and one with the setting: 0, 5, 10, 20 or 40. Default: 40; "
            "with --apply 0.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Search only this setting. Can be repeated."),
    ] = None,
    only_screen: Annotated[
        bool,
        typer.Option(
            "--screen", show_default=False, help="Say only which settings change the I/O, and how; time nothing."
        ),
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", metavar="N", min=4, help="Most runs of the search, after one for each value of a setting."
        ),
    ] = 46,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="The file of settings that a search writes if it shows a gain."),
    ] = Path("thalweg-tune.json"),
    force: Annotated[bool, typer.Option("--force", show_default=False, help="Replace the file of --out.")] = False,
    applied: Annotated[
        Path | None,
        typer.Option(
            "--apply",
            metavar="FILE",
            show_default=False,
            help="Run the command with the settings of this file, and say which of them are inert here.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", show_default=False, help="Go on with what was killed in this folder."),
    ] = False,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="COMMAND", help="Shell command that restores files before each run."),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="TIME",
            help="End a run with the setting after this time. Default: a minute, and ten times as long as without it.",
        ),
    ] = None,
    may_change_file: Annotated[
        bool,
        typer.Option(
            "--may-change-file", show_default=False, help="Allow settings that change how the file is laid out."
        ),
    ] = False,
    always: Annotated[
        bool,
        typer.Option(
            "--always",
            show_default=False,
            help="Without --try: search even if I/O takes less than 5 % of the time here.",
        ),
    ] = False,
    aggregators: Annotated[
        bool,
        typer.Option(
            "--aggregators",
            show_default=False,
            help="Say only how many aggregators collective writes and reads need, and why.",
        ),
    ] = False,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="SIZE",
            show_default=False,
            help="How many bytes keep one aggregator busy. Default: measured by writes, or reads, in the folder of "
            "the file, for at most a minute each.",
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Name the I/O settings that make a command faster, and prove it. The command stays as it is.

    COMMAND runs once, in the current folder, with each value of each setting of the libraries that it uses. Values that
    change nothing in its I/O (calls, bytes, locks, writers) are inert. Combinations of the others are searched for the
    fastest one, which is compared with COMMAND as it is: what changed in the I/O, whether the data are the same, and
    what is gained, as an interval of pairs of runs. A file of settings is written if a gain is shown.

    If ranks write or read together by MPI-IO, the number of aggregators that each of these calls needs is computed
    after Chaarawi and Gabriel, and tried, too; --aggregators ends there.

    With --try, only the settings that are named are compared, together. With --apply, those of such a file are.

    Each run begins as the first did: what COMMAND creates is moved aside, and what its first run created is there in
    the end (with --apply, what it created with the settings). The exit code is 1 if COMMAND does not work with the
    settings or has other data then, or if a trace lacks calls, so that nothing can be told.
    """
    from thalweg._base.quantities import duration_ns, of_option, size_bytes
    from thalweg._base.quantities import limit as limit_of
    from thalweg._tune.request import Request, begin, go_on
    from thalweg._tune.settings import SETTINGS

    if names:
        if json:
            print_json([each.to_dict() for each in SETTINGS])
        else:
            answer(*map(str, SETTINGS))
        return 0

    def progress(text: str) -> None:
        say(f"thalweg: {text}")

    if resume:
        if command or tried or applied:
            raise typer.BadParameter("--resume has the command from the trial that was killed: give nothing else")
        result = go_on(progress)
    else:
        if not command:
            raise typer.BadParameter("there is no command: write `thalweg tune --try NAME=VALUE -- COMMAND`")
        if tried and applied:
            raise typer.BadParameter("--try and --apply exclude each other: give one of them")
        if aggregators and (tried or applied):
            raise typer.BadParameter("--aggregators tries nothing: give it without --try and --apply")
        request = Request(
            command,
            before,
            None if limit is None else of_option("--limit", limit, duration_ns) / 1e9,
            tried or [],
            str(applied.resolve()) if applied else "",
            only or [],
            pairs if pairs is not None else 0 if applied else 40,
            may_change_file,
            always,
            0 if only_screen else runs,
            str(out.resolve()),
            force,
            aggregators,
            limit_of("--k", k, size_bytes) if k else None,
        )
        result = begin(request, progress)
    print_json(result.to_dict()) if json else answer(*result.lines())
    return 1 if result.has_failed else 0


def register(app: typer.Typer) -> None:
    app.command("tune", epilog=as_epilog(EXAMPLES))(tune)
