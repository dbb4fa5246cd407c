"""Reads what a launcher, such as Slurm, tells the processes that it starts."""

from __future__ import annotations

import os

from thalweg._base.errors import UsageError


def node_of_launcher() -> int:
    """Returns the number of this node, from 1. Raises UsageError if no launcher has set it."""
    names = ("SLURM_NODEID", "JOB_COMPLETION_INDEX", "GROUP_RANK")
    for name in names:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name]) + 1
    raise UsageError(f"the number of this node is not known (none of {', '.join(names)} is set): give node=")
