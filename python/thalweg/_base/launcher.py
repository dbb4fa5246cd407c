"""What launchers tell the processes that they start."""

from __future__ import annotations

import os

from thalweg._base.errors import UsageError


def node_of_launcher() -> int:
    names = ("SLURM_NODEID", "JOB_COMPLETION_INDEX", "GROUP_RANK")
    for name in names:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name]) + 1
    raise UsageError(f"nobody says which node this is (none of {', '.join(names)} is set): give node=")
