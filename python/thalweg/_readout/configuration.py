"""Loads the configuration of a readout: one TOML file for all handlers (docs/readout.md)."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.toml_tables import read_tables
from thalweg._readout import toml

_SECRETS = frozenset({"token"})
_KEPT_HEAD = "# This is the configuration as it was read. Comments and secrets are left out.\n"


@dataclass(frozen=True)
class Configuration:
    path: Path
    text: str
    """The text that is kept with a run: the content of the file without secrets."""
    json: str = field(repr=False)
    """The content for the handlers, with secrets."""
    handlers: list[str]
    """The names of the handlers, in the order of the file."""


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets the errors of handlers name the file of their configuration: they get its content alone."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def load_configuration(path: Path) -> Configuration:
    """Loads a configuration. Raises UsageError if it is not TOML or has no handlers; handlers check the rest."""
    tables = read_tables(path)
    handlers = _handlers(tables, path)
    _as_json(tables, path)  # raises for values that cannot be kept
    kept = _kept(tables)  # names of files stay as they were written
    for table in (tables, *handlers):
        _find_files(table, path.parent)
    return Configuration(
        path=path,
        text=kept,
        json=_as_json(tables, path),
        handlers=[str(handler.get("name", f"dh{position}")) for position, handler in enumerate(handlers)],
    )


def changed(configuration_json: str, handler: str, **values: str) -> str:
    """Returns a configuration in which this handler has other values for some keys; empty ones change nothing."""
    tables = json.loads(configuration_json)
    for position, table in enumerate(tables["handler"]):
        if table.get("name", f"dh{position}") == handler:
            table.update({key: value for key, value in values.items() if value})
    return json.dumps(tables)


def _handlers(tables: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    handlers = tables.get("handler", [])
    if not isinstance(handlers, list) or not all(isinstance(handler, dict) for handler in handlers):
        raise UsageError(f"{path}: 'handler' is not a list of tables: write [[handler]]")
    if not handlers:
        raise UsageError(f"{path} has no handlers: add [[handler]] and [[handler.group]]")
    return handlers


def _find_files(table: dict[str, Any], folder: Path) -> None:
    """Makes relative names of files absolute: they are relative to the folder of the configuration."""
    for section, key in (("server", "token_file"), ("hook", "library")):
        values = table.get(section)
        if isinstance(values, dict) and isinstance(name := values.get(key), str) and name:
            values[key] = str((folder / name).absolute())
    if isinstance(name := table.get("control_socket"), str) and name:
        table["control_socket"] = str((folder / name).absolute())


def _kept(tables: dict[str, Any]) -> str:
    """Returns the text to keep. It is made from the parsed tables, since comments of the file may contain secrets."""
    return _KEPT_HEAD + toml.dumps(_without_secrets(tables))


def _without_secrets(value: Any) -> Any:
    """Removes secrets in all places, even in wrong ones, since the file may not have been checked yet."""
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items() if key not in _SECRETS}
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


def _as_json(tables: dict[str, Any], path: Path) -> str:
    try:
        return json.dumps(tables, allow_nan=False)
    except TypeError:
        raise UsageError(f"{path} contains a date or time, which no key of a readout takes: remove it") from None
    except ValueError:
        raise UsageError(f"{path} contains inf or nan, which no key of a readout takes: remove it") from None


def dump_default(
    elinks: int = 42,
    buffers: int = 1,
    groups: int = 3,
    *,
    card: str = "felix0",
    first_elink: int = 0,
    packet_bytes: int = 24,
    rate: str = "1MHz",
    mode: str = "build",
    port: int = 7700,
) -> str:
    """Returns a first configuration for an emulated card with these e-links and buffers, and `groups` for each buffer.

    Raises UsageError if there are fewer e-links than groups."""
    if not 1 <= buffers * groups <= elinks:
        raise UsageError(
            f"{elinks} e-links cannot be distributed over {buffers} buffers with {groups} groups each: give fewer "
            "groups or more e-links"
        )
    per_group = -(-elinks // (buffers * groups))
    lines = [_TOP.format(rate=rate, mode=mode)]
    links = _shares(range(first_elink, first_elink + elinks), buffers)
    for number, of_buffer in enumerate(links):
        lines.append(_HANDLER.format(number=number, card=card, port=port + number, metrics=port + 100 + number))
        for index, of_group in enumerate(_shares(of_buffer, groups)):
            lines.append(
                _GROUP.format(
                    source_id=_source_id(number, index, groups, per_group, mode),
                    elinks=_as_range(of_group),
                    fragment_bytes=_fragment_bytes(len(of_group), packet_bytes, mode),
                )
            )
    return "".join(lines)


def _shares(links: range, parts: int) -> list[range]:
    """Divides e-links evenly and in order, as the emulated card distributes them over its buffers."""
    ends = [len(links) * part // parts for part in range(parts + 1)]
    return [links[first:last] for first, last in itertools.pairwise(ends)]


def _as_range(links: range) -> str:
    return f"{links[0]}-{links[-1]}" if len(links) > 1 else str(links[0])


def _source_id(handler: int, group: int, groups: int, per_group: int, mode: str) -> int:
    """Returns the source id of a group. A group in relay mode uses one id for each of its links."""
    return (handler * groups + group) * (per_group if mode == "relay" else 1) + 0x1000


def _fragment_bytes(streams: int, packet_bytes: int, mode: str) -> int:
    """Returns the size of a fragment with one packet of each stream. A time slice gets the default."""
    if mode == "triggerless":
        return 1024
    streams = 1 if mode == "relay" else streams
    needed = 64 + (streams + 1) // 2 * 8 + streams * ((packet_bytes + 3) // 4 * 4)
    return max(256, -(-needed // 64) * 64)


_TOP = """\
# The configuration of a readout. docs/readout.md explains all keys. Lines that are commented out show the defaults;
# those that begin with "for example" have none, and show how the value is written. The configuration is checked before
# anything starts, and is kept with every run.

[readout]
expected_rate = "{rate}"     # event rate; used to express depths in seconds
mode = "{mode}"            # build: one fragment from the streams of a group; relay: links carry fragments; triggerless
# pinning = "none"           # or "auto", or for example "build=0-2,serve=3-4"
# poll = "30us"              # sleep of idle threads

[index]                      # one for each group
events = 131072              # number of events kept for collectors, a power of two
when_full = "busy"           # "busy": the card must wait; "evict": the oldest events are dropped
# window_events = 4096       # packets more than this number of events ahead of the newest event are refused
# close_after_events = 1024  # an incomplete event is closed when all live links are this number of events past it,
# close_after = "50ms"       # or this time after its first packet
# dead_after = "100ms"       # a link that is silent for this time while others send counts as dead
# checksum = false           # whether each fragment gets a checksum

[trigger]                    # offsets in a packet, in bytes
# l1id_offset = 0            # of the 32-bit extended L1ID, ECR << 24 | L1ID
# bcid_offset = 6            # of the 16-bit bunch crossing id
# slice_ticks = 1            # triggerless: ticks of the timestamp in a slice

[server]
# allow = ["127.0.0.0/8", "::1/128"]  # networks that may connect to handlers and to their HTTP ports
# for example: token_file = "token"  # file whose first line is the shared secret; control over HTTP needs it
# host_names = []            # more names by which HTTP clients may address these machines
# threads = 2
# max_connections = 10000
# queued = "8MiB"            # most data queued for one connection; more requests wait
# queued_total = "256MiB"    # most data queued for all connections, kernel buffers included; observers get a quarter
# shared_memory = "4MiB"     # memory for answers to one collector over a Unix socket; 0: answers use the socket
# lease = "10s"              # a collector that is silent for this time loses its events to another one
# longest_lease = "10min"    # the longest time for which a collector may keep events in any case
outstanding_events = 65536   # most events that all collectors together may hold until they are safe on disk

[hook]
# for example: library = "hook.so"  # code of the detector: see thalweg/readout/builder/hook.h
# budget = "1us"             # longest time for one call
"""

_HANDLER = """
[[handler]]
name = "dh{number}"
card = "{card}"
dma = {number}                      # number of the DMA buffer of the card
listen = "127.0.0.1:{port}"
# for example: address = "host:{port}"  # where collectors find it, if not at `listen`: a name is looked up each time
metrics = "127.0.0.1:{metrics}"   # /metrics, /healthz, /readyz, and /control for clients with the token
# for example: control_socket = "dh{number}.sock"  # the same for processes that may open this socket, without a token
# threads = 0                # build threads; 0: one for each group, at most one for each processor
"""

_GROUP = """
[[handler.group]]
source_id = {source_id:#06x}
elinks = ["{elinks}"]
fragment_bytes = {fragment_bytes}         # largest fragment; packets that do not fit are left out and marked
"""
