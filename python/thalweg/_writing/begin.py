"""Begins a run in this process, or joins one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.given import integer_of, nanoseconds_of, path_of, text_of_user
from thalweg._base.launcher import node_of_launcher
from thalweg._base.paths import Path
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema
from thalweg._schema.schema import schema as schema_of
from thalweg._schema.tuning import Value, with_codec
from thalweg._writing.writer import Writer

_MOST_NODES = 2**16

SchemaLike = Schema | Mapping[str, Any] | None


@dataclass(frozen=True)
class Beginning:
    """The options of `create`, by the same names; see there."""

    path: Path
    schema: SchemaLike
    force: bool
    resume: bool
    codec: str | None
    metadata: Mapping[str, str] | None
    attrs: Mapping[str, Any] | None
    order: str | None
    keys_per_group: int | None
    tuning: Mapping[str, Value] | None
    nodes: int
    node_timeout: float
    on_node_death: str
    keys_taken_together: int | None

    def checked(self) -> Checked:
        """Raises UsageError if the request is wrong in itself."""
        if self.attrs is not None and self.resume:
            raise UsageError("attrs= and resume=True are given (a run has its attributes from create): leave attrs out")
        name = path_of(self.path)
        if self.schema is None and not self.resume:
            raise UsageError(f"{name} cannot be created without a schema: give one, or resume=True")
        given = _schema_of(self.schema)
        options = _core.CreateOptions()
        options.force = bool(self.force)
        options.keys_per_group = _checked_group(self.order, self.keys_per_group)
        nodes = integer_of(self.nodes, "nodes", 1, _MOST_NODES)
        goes_on, keys_together = _checked_rules(self.on_node_death, self.keys_taken_together)
        options.set_nodes(nodes, nanoseconds_of(self.node_timeout, "node_timeout"), goes_on, keys_together)
        with_codec(self.tuning, self.codec).apply(options)
        texts = dict(self.metadata or {})
        for key, value in texts.items():
            text_of_user(value, f"the metadata {text_of_user(key, 'the key of metadata')!r}")
        if self.attrs is not None and given is not None:
            given = replace(given, attrs=Attributes({**given.attrs, **self.attrs}, of="the run"))
        return Checked(name, given.to_json() if given is not None else None, options, texts, self.resume)


@dataclass(frozen=True)
class Checked:
    """A checked request, as the core takes it."""

    path: str
    schema: str | None
    """None only if the run is resumed."""
    options: _core.CreateOptions
    metadata: dict[str, str]
    resume: bool


def begin_alone(checked: Checked) -> Writer:
    """This process creates the run, or resumes it, as its first node."""
    if checked.resume:
        core = _core.resume(checked.path, checked.schema, checked.options)
        return Writer(core, core.metadata)
    assert checked.schema is not None
    return Writer(_core.create(checked.path, checked.schema, checked.options, checked.metadata), checked.metadata)


def join(
    path: Path,
    *,
    node: int | None = None,
    nodes: int | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    node_timeout: float = 60,
    resume: bool = False,
) -> Writer:
    """Joins a run of several nodes that the first node begins with `tw.create(path, ..., nodes=...)`.

    node: the number of this node, from 2 to the number of nodes. The default is taken from the launcher: SLURM_NODEID,
        JOB_COMPLETION_INDEX (Kubernetes) or GROUP_RANK (torchrun), which count from 0.
    nodes, schema: if they are given, they must be those of the run.
    node_timeout: the same as in `create`.
    resume: return to a run that the first node resumes with `tw.create(path, ..., resume=True)`. This must be the
        machine that was this node before, since rows in its memory are kept.

    The result is used like that of `create`; the knobs are those of the run. Raises UsageError if nodes are missing
    when the time is over (and names them), if this node has joined already, if nodes do not agree, or if this node
    cannot return.
    """
    name = path_of(path)
    number = node_of_launcher() if node is None else integer_of(node, "node", 0, _MOST_NODES)
    if number < 2:
        raise UsageError(f"{name} cannot be joined as node {number} (node 1 creates it): use tw.create on node 1")
    count = 0 if nodes is None else integer_of(nodes, "nodes", 1, _MOST_NODES)
    given = _schema_of(schema)
    timeout_ns = nanoseconds_of(node_timeout, "node_timeout")
    core = _core.join(name, number - 1, count, given.to_json() if given is not None else None, timeout_ns, bool(resume))
    return Writer(core, core.metadata)


def _schema_of(given: SchemaLike) -> Schema | None:
    return given if given is None or isinstance(given, Schema) else schema_of(given)


def _checked_rules(on_node_death: str, keys_taken_together: int | None) -> tuple[bool, int]:
    if on_node_death not in ("end", "continue"):
        raise UsageError(f"on_node_death is {on_node_death!r}: give 'end' or 'continue'")
    if keys_taken_together is None:
        return on_node_death == "continue", 0
    count = integer_of(keys_taken_together, "keys_taken_together", 1)
    return on_node_death == "continue", count


def _checked_group(order: str | None, keys_per_group: int | None) -> int:
    if order not in (None, "key"):
        raise UsageError(f"order cannot be {order!r}: give order='key', or leave it out")
    if order is None and keys_per_group is not None:
        raise UsageError("keys_per_group= is given, and the run has no order: give order='key', or leave it out")
    count = 1 if keys_per_group is None else integer_of(keys_per_group, "keys_per_group", 1)
    return 0 if order is None else count
