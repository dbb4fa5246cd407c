"""Which of several machines that record into one file this is."""

import json
from dataclasses import dataclass
from typing import Any

from thalweg._errors import UsageError
from thalweg._recording import units
from thalweg._recording.options import NodeDeath, RecordOptions


@dataclass(frozen=True)
class NodePlan:
    nodes: int = 1
    node: int = 1
    goes_on: bool = False
    timeout_ns: int = 0

    @property
    def prefix(self) -> str:
        """Of the names of this node's tables, and of what it alone says in the metadata."""
        return f"node{self.node}_" if self.nodes > 1 else ""

    def schema(self, of_source: str) -> str:
        """All tables of all nodes: those of one source, as often as there are nodes."""
        if self.nodes == 1:
            return of_source
        schema: dict[str, Any] = json.loads(of_source)
        tables = schema["tables"]
        schema["tables"] = [
            {**table, "name": f"node{node}_{table['name']}"} for node in range(1, self.nodes + 1) for table in tables
        ]
        return json.dumps(schema)

    def metadata(self, of_this: dict[str, str]) -> dict[str, str]:
        """What the first node says is of the run; that of all others has their names."""
        return of_this if self.node == 1 else {f"{self.prefix}{key}": value for key, value in of_this.items()}


def node_plan(options: RecordOptions) -> NodePlan:
    if options.nodes == 1:
        if options.node not in (None, 1):
            raise UsageError(f"--node {options.node} is given for a run of one node: give --nodes, too")
        return NodePlan()
    if options.node is None or options.node > options.nodes:
        raise UsageError(f"this machine has to be one of {options.nodes} nodes: give --node, from 1 to {options.nodes}")
    if options.max_file_size or options.max_file_time:
        raise UsageError(
            "several nodes cannot go on in another file yet: leave --max-file-size and --max-file-time out"
        )
    goes_on = options.on_node_death == NodeDeath.going_on
    return NodePlan(options.nodes, options.node, goes_on, units.duration_ns(options.node_timeout))
