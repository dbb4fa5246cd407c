"""thalweg serve"""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.address import host_and_port
from thalweg._base.errors import UsageError
from thalweg._base.signals import not_ignored
from thalweg.cli._output import as_epilog, say

EXAMPLES = ["thalweg serve .", "thalweg serve . --listen 0.0.0.0:7781 --token-file token"]


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the runs. Folders in it count, too.")],
    listen: Annotated[
        str,
        typer.Option(help="Address to listen on. Without a token, only this machine can be let in.", metavar="ADDRESS"),
    ] = "7781",
    token_file: Annotated[
        Path | None,
        typer.Option(help="File whose first line is a secret that every request must have.", metavar="FILE"),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(help="Name of this machine that requests may use. Can be repeated.", metavar="NAME"),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Site whose pages may read the runs, for example https://viewer.example.org. Can be repeated.",
            metavar="URL",
        ),
    ] = None,
    jsroot: Annotated[
        Path | None,
        typer.Option(
            help="Folder of JSROOT (of its npm package, or of ROOT), with which the page then shows .root files.",
            metavar="FOLDER",
        ),
    ] = None,
) -> int:
    """Show the runs of a folder over HTTP, also while they are written.

    The page at / lists all runs. Each has an image: what the run has now, as a complete HDF5 or ROOT file. The bytes at
    the address of an image never change; a later look at the list gives the address of a newer one. Viewers and
    programs read it with ranges, as any file on the web. /runs.json is the list for programs, and /newest/NAME leads to
    the newest image of a run.

    No other machine is let in unless there is a token: 'Authorization: Bearer TOKEN', or ?token=TOKEN once in a
    browser. Nothing is encrypted. Ctrl-C ends the command. It needs aiohttp: pip install thalweg[serve].
    """
    try:
        from thalweg._serving.access import Access, read_token
        from thalweg._serving.folder import ShownFolder
        from thalweg._serving.server import ServeOptions, Server
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise UsageError("thalweg serve cannot run (aiohttp is not installed): pip install thalweg[serve]") from None
    token = read_token(token_file) if token_file else ""
    access = Access(token, tuple(host_name or ()), frozenset(allow_origin or ()))
    server = Server(ShownFolder(folder), ServeOptions(*host_and_port(listen, "--listen"), access, jsroot))

    async def until_signal() -> None:
        end = asyncio.Event()
        for number in not_ignored((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            asyncio.get_running_loop().add_signal_handler(number, end.set)
        await server.serve(lambda: say(f"{folder} is shown at {server.url} (Ctrl-C ends this)"), end)

    asyncio.run(until_signal())
    return 0


def register(app: typer.Typer) -> None:
    app.command("serve", epilog=as_epilog(EXAMPLES))(serve)
