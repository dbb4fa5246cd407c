"""The configuration of a readout: one TOML file for all its handlers (docs/readout.md)."""

from __future__ import annotations

import itertools
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._errors import UsageError
from thalweg._readout import toml

_SECRETS = frozenset({"token"})
_KEPT_HEAD = "# As it was understood; comments and secrets are left out.\n"


@dataclass(frozen=True)
class Configuration:
    path: Path
    text: str
    """As it is kept with a run: what the file means, without secrets."""
    json: str = field(repr=False)
    """What the handlers take, secrets and all."""
    handlers: list[str]
    """Their names, in the order of the file."""


def load(path: Path) -> Configuration:
    """What the handlers find wrong with it they say themselves; here it must be TOML, and of the right outline."""
    try:
        text = path.read_text()
        tables = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML ({error})") from None
    handlers = _handlers(tables, path)
    _as_json(tables, path)  # says what cannot be kept either
    kept = _kept(tables)  # with the names of files as they were written
    for table in (tables, *handlers):
        _find_files(table, path.parent)
    return Configuration(
        path=path,
        text=kept,
        json=_as_json(tables, path),
        handlers=[str(handler.get("name", f"dh{position}")) for position, handler in enumerate(handlers)],
    )


def _handlers(tables: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    handlers = tables.get("handler", [])
    if not isinstance(handlers, list) or not all(isinstance(handler, dict) for handler in handlers):
        raise UsageError(f"{path}: 'handler' is no list of tables: write [[handler]]")
    if not handlers:
        raise UsageError(f"{path} has no handlers: add [[handler]] and [[handler.group]]")
    return handlers


def _find_files(table: dict[str, Any], folder: Path) -> None:
    """Relative names are relative to the file that has them, wherever the handler is started."""
    for section, key in (("server", "token_file"), ("hook", "library")):
        values = table.get(section)
        if isinstance(values, dict) and isinstance(name := values.get(key), str) and name:
            values[key] = str((folder / name).absolute())
    if isinstance(name := table.get("control_socket"), str) and name:
        table["control_socket"] = str((folder / name).absolute())


def _kept(tables: dict[str, Any]) -> str:
    """Made from what was understood, never from the text of the file: a secret may stand in a comment, too."""
    return _KEPT_HEAD + toml.dumps(_without_secrets(tables))


def _without_secrets(value: Any) -> Any:
    """Wherever they stand: what is wrong with the file may not have been found yet."""
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items() if key not in _SECRETS}
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


def _as_json(tables: dict[str, Any], path: Path) -> str:
    try:
        return json.dumps(tables, allow_nan=False)
    except TypeError:
        raise UsageError(f"{path}: dates and times have no meaning here") from None
    except ValueError:
        raise UsageError(f"{path}: inf and nan have no meaning here") from None


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
    """A file to begin with, for an emulated card with these e-links and buffers and `groups` for each buffer."""
    if not 1 <= buffers * groups <= elinks:
        raise UsageError(f"{elinks} e-links cannot be shared by {buffers} buffers with {groups} groups each")
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
    """Evenly and in order, as the emulated card shares e-links out to its buffers."""
    ends = [len(links) * part // parts for part in range(parts + 1)]
    return [links[first:last] for first, last in itertools.pairwise(ends)]


def _as_range(links: range) -> str:
    return f"{links[0]}-{links[-1]}" if len(links) > 1 else str(links[0])


def _source_id(handler: int, group: int, groups: int, per_group: int, mode: str) -> int:
    """A relaying group takes as many as it has links."""
    return (handler * groups + group) * (per_group if mode == "relay" else 1) + 0x1000


def _fragment_bytes(streams: int, packet_bytes: int, mode: str) -> int:
    """Room for a packet of each stream; a slice of time gets the default."""
    if mode == "triggerless":
        return 1024
    streams = 1 if mode == "relay" else streams
    needed = 64 + (streams + 1) // 2 * 8 + streams * ((packet_bytes + 3) // 4 * 4)
    return max(256, -(-needed // 64) * 64)


_TOP = """\
# The configuration of a readout. Keys and their meaning: docs/readout.md. What is commented out is the default.
# It is checked before anything is started, and saved with every run.

[readout]
expected_rate = "{rate}"     # of events: what depths are told in seconds for
mode = "{mode}"            # build: a fragment of each group's streams; relay: links carry whole fragments; triggerless
# pinning = "none"           # or "auto", or "build=0-2,serve=3-4"
# poll = "30us"              # how long idle threads sleep

[index]                      # of each group
events = 131072              # slots, a power of two: this many events are kept for collectors
when_full = "busy"           # the card has to wait; "evict": the oldest events make room
# window_events = 4096       # packets further ahead of the newest event are refused
# close_after_events = 1024  # an incomplete event is closed when all live links are so far past it,
# close_after = "50ms"       # or so long after its first packet
# dead_after = "100ms"       # a link that is silent for so long, while others go on, is dead
# checksum = false           # of every fragment

[trigger]                    # where packets say which event they belong to
# l1id_offset = 0            # of the u32 ECR << 24 | L1ID
# bcid_offset = 6            # of the u16 bunch crossing

[server]
# allow = ["127.0.0.0/8", "::1/128"]  # who may connect, to handlers and to their HTTP
# token_file = "token"       # its first line is the shared secret; control over HTTP needs it
# host_names = []            # by which HTTP clients call these machines, besides their own names and addresses
# threads = 2
# max_connections = 10000
# queued = "8MiB"            # of answers to one connection; beyond that its requests wait
# queued_total = "256MiB"    # of answers to all connections, the kernel's part included; of observers a quarter of it
# lease = "10s"              # a collector that is silent for so long loses its events to another
# longest_lease = "10min"    # nor may one that talks keep events for longer
outstanding_events = 65536   # that all collectors together may hold: until they are safe on disk

# [hook]
# library = "hook.so"        # thalweg/readout/builder/hook.h
# budget = "1us"             # of one call
"""

_HANDLER = """
[[handler]]
name = "dh{number}"
card = "{card}"
dma = {number}                      # which buffer of the card
listen = "127.0.0.1:{port}"
metrics = "127.0.0.1:{metrics}"   # /metrics, /healthz, /readyz, and /control for those who have the token
# control_socket = "dh{number}.sock"  # the same for those who may open this file, without a token
# threads = 0                # that build; 0: one for each group, but no more than processors
"""

_GROUP = """
[[handler.group]]
source_id = {source_id:#06x}
elinks = ["{elinks}"]
fragment_bytes = {fragment_bytes}         # at most; what does not fit is left out, and marked
"""
