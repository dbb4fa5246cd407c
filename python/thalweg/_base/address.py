"""Addresses on which this machine listens, as options name them."""

from thalweg._base.errors import UsageError


def host_and_port(text: str, option: str) -> tuple[str, int]:
    """Returns the host without brackets, 127.0.0.1 if none is named, and the port. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not port.isascii() or int(port) > 65535:
        raise UsageError(f"{option} {text} is not an address: give for example 7790, 0.0.0.0:7790 or [::]:7790")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"{option} {text} is not an address (IPv6 needs brackets): give [{host}]:{port}")
    return host.strip("[]") or "127.0.0.1", int(port)


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
