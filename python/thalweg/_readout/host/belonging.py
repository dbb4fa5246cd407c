"""Decides which handlers of a configuration belong to this host: those whose address, as collectors use it, is here."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg._base.errors import SystemError, UsageError  # noqa: A004

_FIRST_PORT = 7700
_UNIX = "unix:"


@dataclass(frozen=True)
class NamedHandler:
    """A handler of a configuration: its name, and where collectors find it."""

    name: str
    address: str


def handlers_of(tables: dict[str, Any]) -> list[NamedHandler]:
    """Returns the handlers of a configuration that was checked, with the defaults of names and addresses."""
    found = []
    for position, table in enumerate(tables["handler"]):
        listen = str(table.get("listen", f"127.0.0.1:{_FIRST_PORT + position}"))
        found.append(NamedHandler(str(table.get("name", f"dh{position}")), str(table.get("address") or listen)))
    return found


def control_sockets_of(tables: dict[str, Any]) -> dict[str, str]:
    """Returns the control socket of each handler for which the configuration names one."""
    named = ((str(table.get("name", f"dh{position}")), table) for position, table in enumerate(tables["handler"]))
    return {name: table["control_socket"] for name, table in named if table.get("control_socket")}


def chosen(handlers: Sequence[NamedHandler], names: Sequence[str], host: str, path: Path) -> list[str]:
    """Returns the names of the handlers to start, in the order of the file.

    `names` are those that a user has named; without them, `host` is the host whose handlers are meant, and without
    that it is this one. Raises UsageError if there are none, or if an address does not say where it is."""
    known = [handler.name for handler in handlers]
    if names:
        if unknown := [name for name in names if name not in known]:
            raise UsageError(f"{path} has no handler '{unknown[0]}': it has {', '.join(known)}")
        return [name for name in known if name in names]
    found = [handler.name for handler in handlers if _belongs(handler, host, path)]
    if not found:
        where = f"host '{host}'" if host else f"this host ({socket.gethostname()})"
        addresses = ", ".join(f"{handler.name} at {handler.address}" for handler in handlers)
        raise UsageError(f"{path} has no handler of {where} ({addresses}): name some with --handler, or give --host")
    return found


def _belongs(handler: NamedHandler, host: str, path: Path) -> bool:
    if handler.address.startswith(_UNIX):
        return not host  # a socket that only processes of the same host can reach
    name = _host_of(handler.address)
    if _is_wildcard(name):
        raise UsageError(
            f"{path} does not say on which host {handler.name} runs (it listens on all networks, at "
            f"{handler.address}): give it an address, or name the handlers of this host with --handler"
        )
    return _same_name(name, host) if host else _is_here(name, handler)


def _host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _is_wildcard(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False


def _same_name(first: str, second: str) -> bool:
    return first.lower().rstrip(".") == second.lower().rstrip(".")


def _is_here(name: str, handler: NamedHandler) -> bool:
    own = socket.gethostname()
    if any(_same_name(name, each) for each in ("localhost", own, own.partition(".")[0])):
        return True
    return any(is_own_address(address) for address in _addresses_of(name, handler))


def _addresses_of(name: str, handler: NamedHandler) -> list[str]:
    """Returns the addresses of a name. A name that cannot be looked up may be this host's, so it is an error."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SystemError(
            error.errno or 0,
            f"cannot say whether {handler.name} belongs to this host (its address {handler.address} cannot be looked "
            f"up: {error.strerror}): name the handlers of this host with --handler",
        ) from None
    return sorted({str(each[4][0]) for each in found})


def is_own_address(address: str) -> bool:
    """Returns whether this host has the address: only then can a socket be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return False
            raise SystemError(error.errno or 0, f"cannot say whether {address} is here ({error.strerror})") from None
    return True
