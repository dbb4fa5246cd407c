"""Decides which requests and which WebSockets reach the application: those of clients that call this machine by one of
its names, of no page from elsewhere, and with the token, if there is one."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from thalweg._serving.access import Access, Refusal

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_KNOWS_TOKEN = "thalweg.knows_token"


def knows_token(scope: Scope) -> bool:
    """Returns whether a request that was let in has shown a token, so that it may change what is shown."""
    return bool(scope.get(_KNOWS_TOKEN))


class Guard:
    """ASGI: in front of all else, for HTTP and WebSockets alike."""

    def __init__(self, application: ASGIApp, access: Access) -> None:
        self._application, self._access = application, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        refusal = self._refusal(scope)
        token = "" if refusal else self._token_of_address(scope)
        if refusal is None and not token:
            scope[_KNOWS_TOKEN] = bool(self._access.token)
            await self._application(scope, receive, _with_headers(send))
            return
        answer: Any
        if refusal is not None:
            more = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
            answer = PlainTextResponse(refusal.text, refusal.status, {**HEADERS, **more})
        else:  # a browser keeps the token, and its address does not show it any longer
            answer = RedirectResponse("/", 303, HEADERS)
            answer.set_cookie(_cookie(scope), token, httponly=True, samesite="strict")
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if refusal := self._access.refusal_of_host(hosts):
            return refusal
        origins = headers.getlist("origin")
        if any(not _is_own(origin, hosts[0]) for origin in origins) or len(origins) > 1:
            return Refusal(403, "The request comes from a page of another site, which may not see the run.\n")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            return Refusal(403, "The request comes from a page of another site, which may not see the run.\n")
        return self._access.refusal_of_token(headers.get("authorization", ""), [*_cookies(scope), *_asked(scope)])

    def _token_of_address(self, scope: Scope) -> str:
        if scope["type"] != "http" or scope["path"] != "/" or not self._access.token or not _asked(scope):
            return ""
        return self._access.token


def _is_own(origin: str, host: str) -> bool:
    return urlsplit(origin).netloc.lower() == host.lower()


def _cookie(scope: Scope) -> str:
    """Returns the name of the cookie: ports of one machine share cookies."""
    return f"thalweg-watch-{scope['server'][1]}"


def _cookies(scope: Scope) -> list[str]:
    found: SimpleCookie = SimpleCookie()
    try:
        found.load(Headers(scope=scope).get("cookie", ""))
    except CookieError:
        return []
    return [found[_cookie(scope)].value] if _cookie(scope) in found else []


def _asked(scope: Scope) -> list[str]:
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [])


def _with_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            names = {name for name, _ in own}
            message["headers"] = [*(each for each in message["headers"] if each[0].lower() not in names), *own]
        await send(message)

    return sending
