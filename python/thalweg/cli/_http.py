"""What the commands share that answer requests over HTTP: `serve` and `watch`."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.signals import not_ignored

ListenOption = Annotated[
    str,
    typer.Option(help="Address to listen on. Without a token, only this machine can be let in.", metavar="ADDRESS"),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(help="File whose first line is a secret that every request must have.", metavar="FILE"),
]
HostNameOption = Annotated[
    list[str] | None,
    typer.Option(help="Name of this machine that requests may use. Can be repeated.", metavar="NAME"),
]


def until_signal(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Serves until a signal ends the command, which sets the event."""

    async def serving() -> None:
        end = asyncio.Event()
        for number in not_ignored((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            asyncio.get_running_loop().add_signal_handler(number, end.set)
        await serve(end)

    asyncio.run(serving())
