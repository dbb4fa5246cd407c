"""Decides which requests are answered: those of clients that call this machine by one of its own names and, if there is
a token, know it (docs/decisions/0036)."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError  # noqa: A004


@dataclass(frozen=True)
class Refusal:
    status: int
    text: str


@dataclass(frozen=True)
class Access:
    token: str = ""
    host_names: Sequence[str] = ()
    origins: frozenset[str] = frozenset()  # of pages from elsewhere that may read what is shown
    _own: _core.HostNames = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own", _core.HostNames(list(self.host_names), ""))

    def check_listening(self, host: str, port: int) -> None:
        """Raises UsageError if other machines could read the files without a token."""
        if not self.token and not _is_loopback(host, port):
            raise UsageError(
                f"{host} is reached from other machines, which could read all files (there is no token): give "
                "--token-file FILE, or listen on 127.0.0.1"
            )

    def refusal_of_host(self, hosts: Sequence[str]) -> Refusal | None:
        if len(hosts) == 1 and self._own.contain(hosts[0]):
            return None
        return Refusal(
            421,
            "The request does not call this machine by one of its names (another site may have made its own name lead "
            "here): ask by an address, or give the name with --host-name.\n",
        )

    def refusal_of_token(self, authorization: str, others: Sequence[str]) -> Refusal | None:
        """`others`: tokens that the request has elsewhere, since the links of a browser have no Authorization."""
        if not self.token or _core.is_bearer_of(self.token, authorization):
            return None
        if any(_core.is_bearer_of(self.token, f"Bearer {other}") for other in others):
            return None
        return Refusal(401, "The token is missing or wrong: give 'Authorization: Bearer TOKEN' or '?token=TOKEN'.\n")


def read_token(path: Path) -> str:
    """Returns the first line of the file."""
    try:
        token = path.read_text().partition("\n")[0].removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError(f"{path} has no token (it is not UTF-8 text)") from None
    except OSError as error:
        raise SystemError(error.errno or 0, f"the token cannot be read from {path} ({error.strerror})") from None
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(f"{path} has no token (its first line is empty, or is not printable ASCII)")
    return token


def _is_loopback(host: str, port: int) -> bool:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"{host} is not an address of this machine ({error.strerror})") from None
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)
