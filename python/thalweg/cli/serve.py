"""thalweg serve"""

from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.address import host_and_port
from thalweg._base.packages import needed
from thalweg.cli._http import HostNameOption, ListenOption, TokenFileOption, until_signal
from thalweg.cli._output import as_epilog, say
from thalweg.cli._plot_page import Plots

EXAMPLES = ["thalweg serve .", "thalweg serve . --listen 0.0.0.0:7781 --token-file token"]


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the runs. Folders in it count, too.")],
    listen: ListenOption = "7781",
    token_file: TokenFileOption = None,
    host_name: HostNameOption = None,
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
    browser. Nothing is encrypted. Ctrl-C ends the command. It needs aiohttp: pip install 'thalweg[serve]'.
    """
    with needed("thalweg serve cannot run"):
        from thalweg._serving.access import Access, read_token
        from thalweg._serving.folder import ShownFolder
        from thalweg._serving.server import ServeOptions, Server

    token = read_token(token_file) if token_file else ""
    access = Access(token, tuple(host_name or ()), frozenset(allow_origin or ()))
    options = ServeOptions(*host_and_port(listen, "--listen"), access, jsroot, Plots().page)
    server = Server(ShownFolder(folder), options)

    def ready() -> None:
        say(f"{folder} is shown at {server.url} (Ctrl-C ends this)")

    until_signal(lambda end: server.serve(ready, end))
    return 0


def register(app: typer.Typer) -> None:
    app.command("serve", epilog=as_epilog(EXAMPLES))(serve)
