"""The HTTP server of a host. It admits the clients that a handler of this configuration would admit (`[server]`)."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from thalweg import _core
from thalweg._base.address import host_and_port, url_of
from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._readout.collect import read_token
from thalweg._readout.host.pages import Pages

_MOST_CONNECTIONS = 64
_LONGEST_S = 5.0  # of a connection
_MOST_BODY = 4096
_THIS_MACHINE = ("127.0.0.0/8", "::1/128")
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Admission:
    """Which clients are let in: as `allow`, `host_names` and `token` of [server] say."""

    networks: tuple[_Network, ...]
    host_names: tuple[str, ...]
    token: str

    @classmethod
    def of(cls, server: dict[str, Any]) -> Admission:
        """Returns that of the table [server], which the handlers have checked."""
        token = str(server.get("token", ""))
        if path := server.get("token_file"):
            token = read_token(Path(path))
        networks = tuple(ipaddress.ip_network(each, strict=False) for each in server.get("allow", _THIS_MACHINE))
        return cls(networks, tuple(server.get("host_names", ())), token)

    def allows(self, peer: str) -> bool:
        address = ipaddress.ip_address(peer.partition("%")[0])
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return any((mapped or address) in network for network in self.networks)


class HostServer:
    """Serves pages at a TCP address and, if there is a path, at a Unix socket, which only this user may open."""

    def __init__(self, address: str, socket_path: str, admission: Admission, pages: Pages) -> None:
        self._servers: list[_Server] = []
        self.url = ""
        try:
            if address:
                host, port = host_and_port(address, "--metrics")
                names = _core.HostNames(list(admission.host_names), address)
                tcp = _Tcp6 if ":" in host else _Tcp
                self._servers.append(tcp((host, port), _answering(pages, admission, names)))
                self.url = url_of(host, self._servers[0].server_address[1])
            if socket_path:
                self._servers.append(_local(socket_path, _answering(pages, admission, None)))
        except OSError as error:
            self.close()
            raise SystemError(
                error.errno or 0,
                f"cannot listen at {address or socket_path} ({error.strerror}): give another --metrics",
            ) from None
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def close(self) -> None:
        for server in self._servers:
            server.end()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """At most 64 connections, of 5 s each: if one more comes, the oldest ends."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 2 * _MOST_CONNECTIONS

    def __init__(self, address: Any, handler: Any) -> None:
        self._connections: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._is_served = False
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        now_s = time.monotonic()
        with self._lock:
            by_age = list(self._connections.items())
            for oldest, since_s in by_age:
                if now_s - since_s > _LONGEST_S or len(self._connections) >= _MOST_CONNECTIONS:
                    del self._connections[oldest]
                    with contextlib.suppress(OSError):
                        oldest.shutdown(socket.SHUT_RDWR)
            self._connections[request] = now_s
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def serve_forever(self, poll_interval: float = 0.1) -> None:
        self._is_served = True
        super().serve_forever(poll_interval)

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is no error of the host."""

    def end(self) -> None:
        if self._is_served:
            self.shutdown()
        self.server_close()


class _Tcp(_Server):
    pass


class _Tcp6(_Server):
    address_family = socket.AF_INET6


class _Local(_Server):
    address_family = socket.AF_UNIX

    def server_close(self) -> None:
        super().server_close()
        with contextlib.suppress(OSError):
            os.unlink(str(self.server_address))


def _local(path: str, handler: Any) -> _Local:
    """Listens at a Unix socket. One at which no program listens was left by a program that was killed."""
    if os.path.lexists(path):
        _remove_left_over(path)
    before = os.umask(0o177)
    try:
        return _Local(path, handler)
    finally:
        os.umask(before)


def _remove_left_over(path: str) -> None:
    if not Path(path).is_socket():
        raise UsageError(f"cannot listen at {path} (there is a file that is no socket): choose another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        else:
            raise UsageError(f"cannot listen at {path} (another program listens there): choose another path")


def _answering(pages: Pages, admission: Admission, names: _core.HostNames | None) -> type[BaseHTTPRequestHandler]:
    """Returns the class that answers requests; `names` is None for clients that could open the Unix socket."""

    class Answering(BaseHTTPRequestHandler):
        timeout = _LONGEST_S
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "thalweg", ""

        def do_GET(self) -> None:
            self._answer(self._refusal(is_control=False), lambda: pages.get(self.path.partition("?")[0]))

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            refusal = self._refusal(is_control=True)
            self._answer(refusal, lambda: pages.control(self.path, self._body()))

        def _refusal(self, *, is_control: bool) -> tuple[int, str] | None:
            if names is not None:
                if not admission.allows(self.client_address[0]):
                    return 403, "your network is not in the list 'allow' of [server]\n"
                hosts = self.headers.get_all("Host", [])
                if len(hosts) != 1 or not names.contain(hosts[0]):
                    return 421, (
                        "the Host of this request is no name of this machine (a page of the Web may have had it point "
                        "here): ask by an address, or add the name to host_names of [server]\n"
                    )
            if is_control != self.path.startswith("/control/"):
                return 405, "GET is for pages, and POST for /control/HANDLER/VERB\n"
            return self._refusal_of_control() if is_control else None

        def _refusal_of_control(self) -> tuple[int, str] | None:
            if "Origin" in self.headers:
                return 403, "web pages may not control this\n"
            length = self.headers.get("Content-Length", "0")
            if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
                return 411, "a request for control has a Content-Length, if it has a body\n"
            if int(length) > _MOST_BODY:
                return 413, f"a request has at most {_MOST_BODY} bytes after its headers\n"
            if names is None:
                return None
            if not admission.token:
                return 403, "control needs a token (add token_file to [server]), or --control-socket: ask there\n"
            given = self.headers.get_all("Authorization", [])
            if len(given) == 1 and _core.is_bearer_of(admission.token, given[0]):
                return None
            if given:
                return 401, "what was sent is not the token of this readout: send Authorization: Bearer TOKEN once\n"
            return 401, "control needs the token of this readout: send the header Authorization: Bearer TOKEN\n"

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))

        def _answer(self, refusal: tuple[int, str] | None, make: Callable[[], tuple[int, str]]) -> None:
            status, text = refusal or make()
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Connection", "close")
            if status == 401:
                self.send_header("WWW-Authenticate", 'Bearer realm="thalweg"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Requests are not logged."""

    return Answering


def admission_of(configuration_json: str) -> Admission:
    return Admission.of(json.loads(configuration_json).get("server", {}))
