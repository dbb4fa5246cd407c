"""Says which of several machines that record into one file this one is."""

import json
from dataclasses import dataclass
from typing import Any

from thalweg._base import quantities
from thalweg._base.errors import UsageError
from thalweg._recording.options import NodeDeath, RecordOptions


@dataclass(frozen=True)
class NodePlan:
    nodes: int = 1
    node: int = 1
    goes_on: bool = False
    timeout_ns: int = 0

    @property
    def prefix(self) -> str:
        """The prefix of this node's tables and metadata; empty if there is one node."""
        return f"node{self.node}_" if self.nodes > 1 else ""

    def schema(self, of_source: str) -> str:
        """Returns the tables of all nodes: those of one source, repeated for each node."""
        if self.nodes == 1:
            return of_source
        schema: dict[str, Any] = json.loads(of_source)
        tables = schema["tables"]
        schema["tables"] = [
            {**table, "name": f"node{node}_{table['name']}"} for node in range(1, self.nodes + 1) for table in tables
        ]
        return json.dumps(schema)

    def metadata(self, of_this: dict[str, str]) -> dict[str, str]:
        """Returns the metadata of this node. Those of the first node belong to the run; others get a prefix."""
        return of_this if self.node == 1 else {f"{self.prefix}{key}": value for key, value in of_this.items()}


def node_plan(options: RecordOptions) -> NodePlan:
    timeout_ns = quantities.limit("--node-timeout", options.node_timeout, quantities.duration_ns)
    if options.nodes == 1:
        if options.node not in (None, 1):
            raise UsageError(f"--node {options.node} is given without --nodes: give both")
        return NodePlan()
    if options.node is None or options.node > options.nodes:
        given = "is not given" if options.node is None else f"{options.node} is too large"
        raise UsageError(f"--node {given}: give the number of this machine, 1 to {options.nodes}")
    if options.max_file_size or options.max_file_time:
        raise UsageError(
            "a run of several nodes cannot be divided into files: leave out --max-file-size and --max-file-time"
        )
    goes_on = options.on_node_death == NodeDeath.going_on
    return NodePlan(options.nodes, options.node, goes_on, timeout_ns)
