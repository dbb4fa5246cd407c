"""The server of `thalweg serve`."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from thalweg import _core
from thalweg._base.address import url_of
from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg._serving.access import Access, Refusal
from thalweg._serving.folder import NotThereError, ShownFolder
from thalweg._serving.image_answer import image_answer
from thalweg._serving.page import image_address, list_page, plot_address, viewer_page

MOST_CONNECTIONS = 512
_READERS = 8
_ONLY_OURS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
_FOR_ORIGINS = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "Authorization, Range, If-Range, If-None-Match",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
    "Access-Control-Allow-Private-Network": "true",
    "Vary": "Origin",
}
_T = TypeVar("_T")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class ServeOptions:
    host: str
    port: int
    access: Access
    jsroot: Path | None = None
    plot: Callable[[_core.FileImage, str, str, str, str], str] | None = None
    """Returns the page that draws a waveform of an image: from its own address, the run, a table and a row."""


class Server:
    def __init__(self, folder: ShownFolder, options: ServeOptions) -> None:
        self._folder = folder
        self._options = options
        self._access = options.access
        self._cookie = ""  # the name of the one that has the token: ports of one machine share cookies
        self._readers = ThreadPoolExecutor(_READERS, "read")
        self._lookers = ThreadPoolExecutor(2, "look")  # making images takes long, and must not stop those who read
        self.url = ""

    async def serve(self, ready: Callable[[], None], end: asyncio.Event) -> None:
        """Answers requests until `end` is set. Raises UsageError and SystemError if it cannot listen."""
        options = self._options
        self._access.check_listening(options.host, options.port)
        runner = web.AppRunner(self._application(), access_log=None, logger=_silent(), shutdown_timeout=1)
        await runner.setup()
        assert runner.server is not None
        server = runner.server

        def accept() -> asyncio.Protocol:
            for oldest in server.connections[: len(server.connections) + 1 - MOST_CONNECTIONS]:
                if oldest.transport:
                    oldest.transport.abort()
            protocol: asyncio.Protocol = server()
            return protocol

        try:
            listening = await asyncio.get_running_loop().create_server(
                accept, options.host, options.port, backlog=2 * MOST_CONNECTIONS
            )
            port = listening.sockets[0].getsockname()[1]
            self.url, self._cookie = f"{url_of(options.host, port)}/", f"thalweg-{port}"
            ready()
            await end.wait()
            listening.close()
        except OSError as error:
            where = url_of(options.host, options.port)
            raise SystemError(error.errno or 0, f"cannot serve on {where} ({error.strerror})") from None
        finally:
            await runner.cleanup()
            self._readers.shutdown(wait=False, cancel_futures=True)
            self._lookers.shutdown(wait=False, cancel_futures=True)

    def _application(self) -> web.Application:
        async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        application = web.Application(middlewares=[web.middleware(guard)])
        application.router.add_get("/", self._list)
        application.router.add_get("/runs.json", self._list_for_programs)
        application.router.add_get("/newest/{name:.+}", self._newest)
        application.router.add_get("/images/{image}/{name:.+}", self._image)
        if self._options.plot:
            application.router.add_get("/plots/{image}/{name:.+}", self._plot)
        if self._options.jsroot:
            if not (self._options.jsroot / "modules" / "gui.mjs").is_file():
                raise UsageError(f"{self._options.jsroot} is no JSROOT (it has no modules/gui.mjs): see --help")
            application.router.add_get("/viewer", self._viewer)
            application.router.add_static("/jsroot/", self._options.jsroot)
        return application

    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Lets a request pass if it may, and turns errors into answers that say what is wrong."""
        if refusal := self._access.refusal_of_host(request.headers.getall("Host", [])):
            return _text(refusal)
        origin = request.headers.get("Origin", "")
        others = {"Access-Control-Allow-Origin": origin, **_FOR_ORIGINS} if origin in self._access.origins else {}
        if others and request.method == "OPTIONS":  # which has no token
            return web.Response(status=204, headers=others)
        asked = [request.cookies.get(self._cookie, ""), *request.query.getall("token", [])]
        if refusal := self._access.refusal_of_token(request.headers.get("Authorization", ""), asked):
            return _text(refusal, {"WWW-Authenticate": "Bearer", **others})
        request["headers"] = others
        return await self._answered(request, handler)

    async def _answered(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            answer = await handler(request)
        except NotThereError as error:
            answer = _text(Refusal(404, f"{error}\n"))
        except UsageError as error:  # of a run that was removed just now, or that is no file of a known format
            answer = _text(Refusal(404, f"{error}\n"))
        except Error as error:
            answer = _text(Refusal(500, f"{error}\n"))
        except web.HTTPException as error:
            answer = _text(Refusal(error.status, f"{HTTPStatus(error.status).phrase}: / lists all runs\n"))
        except ConnectionError:  # the client has gone
            raise
        except Exception:
            traceback.print_exc()  # which the client is not told
            answer = _text(Refusal(500, "The server has met an error: it says more where it was started.\n"))
        if not answer.prepared:
            answer.headers.update(request["headers"])
        return answer

    async def _list(self, request: web.Request) -> web.StreamResponse:
        runs = await self._look(self._folder.runs)
        page = list_page(self._folder.path.name, runs, self._options.jsroot is not None, self._options.plot is not None)
        answer = web.Response(text=page, content_type="text/html", headers=_ONLY_OURS)
        if self._access.token and "token" in request.query:  # so that links need none
            answer.set_cookie(self._cookie, self._access.token, httponly=True, samesite="Strict")
        return answer

    async def _list_for_programs(self, _: web.Request) -> web.StreamResponse:
        runs = await self._look(self._folder.runs)
        shown = [{**asdict(run), "image": run.image and image_address(run.image, run.name)} for run in runs]
        return web.json_response({"runs": shown}, headers=_ONLY_OURS)

    async def _newest(self, request: web.Request) -> web.StreamResponse:
        """Leads to the newest image. A client that reads ranges would get another one each time."""
        if "Range" in request.headers:
            text = "Ranges are given of images alone, whose bytes stay: take the address of one from / or runs.json.\n"
            return _text(Refusal(400, text))
        name = request.match_info["name"]
        image = await self._look(lambda: self._folder.newest(name))
        address = image_address(image, name) + ("?" + request.query_string if request.query_string else "")
        return web.Response(status=307, headers={**_ONLY_OURS, "Location": address})

    async def _image(self, request: web.Request) -> web.StreamResponse:
        number, name = request.match_info["image"], request.match_info["name"]
        loop = asyncio.get_running_loop()
        image = await loop.run_in_executor(self._readers, self._folder.image, number, name)
        return await image_answer(request, image, number, self._readers, request["headers"])

    async def _plot(self, request: web.Request) -> web.StreamResponse:
        number, name = request.match_info["image"], request.match_info["name"]
        draw = self._options.plot
        assert draw is not None
        image = await asyncio.get_running_loop().run_in_executor(self._readers, self._folder.image, number, name)
        table, row = request.query.get("table", ""), request.query.get("row", "")
        page = await self._look(lambda: draw(image, plot_address(number, name), name, table, row))
        return web.Response(text=page, content_type="text/html", headers=_ONLY_OURS)

    async def _viewer(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=viewer_page(), content_type="text/html", headers={"Cache-Control": "no-store"})

    async def _look(self, at: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._lookers, at)


def _silent() -> logging.Logger:
    """Returns a logger for the library, which tells of all that clients do wrong."""
    logger = logging.getLogger("thalweg-serve")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _text(refusal: Refusal, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=refusal.status, text=refusal.text, headers={**_ONLY_OURS, **(headers or {})})
