"""The server of `thalweg watch`: a page, its WebSocket, and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import mimetypes
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, make_asgi_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from thalweg._base.address import url_of
from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._serving.access import Access
from thalweg._watching.alarms import Limits
from thalweg._watching.counting import Asked
from thalweg._watching.files import page_files
from thalweg._watching.guard import Guard, knows_token
from thalweg._watching.half_requests import PatientProtocol
from thalweg._watching.metrics import WatchCollector
from thalweg._watching.shown import Shown, message_with
from thalweg._watching.watcher import Watcher

MOST_VIEWERS = 256
_MOST_RECEIVED = 4096
_STOP_AFTER_S = 1
_LAST_MESSAGE_S = 2.0
_READ_ONLY = (
    "this page is read-only, since no token was asked for: start `thalweg watch` with --token-file FILE, and open "
    "/?token=TOKEN"
)


@dataclass(frozen=True)
class WatchOptions:
    host: str
    port: int
    access: Access
    limits: Limits = field(default_factory=Limits)
    interval_s: float = 0.25
    ends_with_run: bool = False
    """Whether the server ends when it has shown a closed run to its end."""
    failed: Callable[[str], None] = lambda _: None
    """Is called with the reason, in another thread, when the run cannot be read any more."""


class _Application:
    """An ASGI application for Route, which takes a function for one that answers requests."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)


@dataclass(eq=False)  # two viewers that were sent the same are not the same one
class _Viewer:
    version: int = 0  # that was sent last
    may_apply: bool = False
    asked: list[Any] = field(default_factory=list)  # the newest window that it proposes, or nothing
    answers: dict[str, bytes] = field(default_factory=dict)  # the newest one of each kind
    answering: asyncio.Task[None] | None = None


class Server:
    """Raises UsageError if the run cannot be watched, or if other machines could see it without a token."""

    def __init__(self, asked: Asked, options: WatchOptions) -> None:
        options.access.check_listening(options.host, options.port)
        self._options = options
        self._files = page_files()
        self._shown = Shown()
        self._shown.tell({"read_only": "" if options.access.token else _READ_ONLY})
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._viewers: list[_Viewer] = []
        self._proposing = asyncio.Lock()  # windows are tried one at a time
        self.watcher = Watcher(
            asked, self._shown, options.limits, options.interval_s, self._has_changed, options.failed
        )
        self.url = ""

    async def serve(self, ready: Callable[[], None], end: asyncio.Event) -> None:
        """Answers requests until `end` is set. Raises SystemError if it cannot listen."""
        self._loop = asyncio.get_running_loop()
        listening = self._listening()
        self.url = f"{url_of(self._options.host, listening.getsockname()[1])}/"
        server = _Quiet(self._configuration())
        self.watcher.start()
        serving = asyncio.create_task(server.serve([listening]))
        try:
            ready()
            ending: list[asyncio.Task[Any]] = [asyncio.create_task(end.wait())]
            if self._options.ends_with_run:
                ending.append(asyncio.create_task(self._shown_to_the_end()))
            await asyncio.wait([serving, *ending], return_when=asyncio.FIRST_COMPLETED)
            for each in ending:
                each.cancel()
            server.should_exit = True
            await serving
        finally:
            await asyncio.to_thread(self.watcher.stop)

    async def _shown_to_the_end(self) -> None:
        """Returns when the run is read to its end, and viewers that read were sent that."""
        while True:
            news = self._news
            if self.watcher.is_over:
                break
            await news.wait()
        last, end_s = self._shown.version, time.monotonic() + _LAST_MESSAGE_S
        while any(viewer.version < last for viewer in self._viewers) and time.monotonic() < end_s:
            await asyncio.sleep(0.05)

    def _listening(self) -> socket.socket:
        host, port = self._options.host, self._options.port
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            made = socket.socket(family)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(MOST_VIEWERS)
        except OSError as error:
            raise SystemError(
                error.errno or 0, f"cannot listen on {url_of(host, port)} ({error.strerror}): give another --listen"
            ) from None
        return made

    def _configuration(self) -> uvicorn.Config:
        logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn.error").propagate = False  # it tells of all that clients do wrong
        return uvicorn.Config(
            self._application(),
            http=PatientProtocol,
            ws_max_size=_MOST_RECEIVED,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=MOST_VIEWERS,
            timeout_graceful_shutdown=_STOP_AFTER_S,
        )

    def _application(self) -> Guard:
        registry = CollectorRegistry()
        registry.register(WatchCollector(self.watcher))
        routes = [
            WebSocketRoute("/live", self._live),
            Route("/metrics", _Application(make_asgi_app(registry))),
            Mount("/metrics", make_asgi_app(registry)),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
            Route("/{name:path}", self._file),
        ]
        return Guard(Starlette(routes=routes), self._options.access)

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        if name not in self._files:
            return PlainTextResponse("There is no such page: / shows the run.\n", 404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(self._files[name], media_type="text/javascript" if name.endswith(".js") else kind)

    async def _live(self, socket_: WebSocket) -> None:
        await socket_.accept()
        viewer = _Viewer(may_apply=knows_token(socket_.scope))
        self._viewers.append(viewer)
        self.watcher.viewers += 1
        sending = asyncio.create_task(self._send(socket_, viewer))
        try:
            while True:  # this is also where it is seen that a viewer has gone
                self._hear(viewer, await socket_.receive_bytes())
        except (WebSocketDisconnect, KeyError, RuntimeError):
            pass
        finally:
            self.watcher.viewers -= 1
            self._viewers.remove(viewer)
            for task in filter(None, (sending, viewer.answering)):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    def _hear(self, viewer: _Viewer, said: bytes) -> None:
        try:
            given = json.loads(said)
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict) and "apply" in given:
            found = self.watcher.apply(given["apply"]) if viewer.may_apply else {"status": 403, "problem": _READ_ONLY}
            viewer.answers["applied"] = message_with("applied", found)
            self._wake()
            return
        viewer.asked = [given]
        if viewer.answering is None or viewer.answering.done():
            viewer.answering = asyncio.create_task(self._answer(viewer))

    async def _answer(self, viewer: _Viewer) -> None:
        while viewer.asked:
            async with self._proposing:
                given = viewer.asked.pop()
                found = await asyncio.to_thread(self.watcher.proposal, given)
            viewer.answers["proposal"] = message_with("proposal", found)
            self._wake()

    async def _send(self, socket_: WebSocket, viewer: _Viewer) -> None:
        epoch = 0
        while True:
            news = self._news
            if viewer.version != self._shown.version:
                message, version, epoch = self._shown.message(viewer.version, epoch)
                await socket_.send_bytes(message)  # waits for a viewer that does not read
                viewer.version = version
            while viewer.answers:
                await socket_.send_bytes(viewer.answers.pop(next(iter(viewer.answers))))
            await news.wait()

    def _has_changed(self) -> None:
        """Called by the threads of the watcher."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class _Quiet(uvicorn.Server):
    """Leaves signals to the command."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield
