"""Commands that prove a finding: `thalweg tune` tries the setting that would mend it."""

from __future__ import annotations

import shlex

from thalweg._explain.findings import Finding
from thalweg._trace.trace_file import Trace

# By rule: the settings to try together, and the level of which the file must have calls.
TRIALS = {
    "chunk cache too small": ("--try chunk_cache=64MiB --try file_chunk_cache=64MiB", "hdf5"),
    "fill values in vain": ("--may-change-file --try fill_time=never", "hdf5"),
    "small requests": ("--try sieve_buf_size=4MiB", "hdf5"),
    "read, modify, write": ("--try romio_ds_write=disable", "mpi"),
    "waiting for locks": ("--try romio_ds_write=disable", "mpi"),
    "collective and apart": ("--try romio_cb_write=disable", "mpi"),
}


def proof(finding: Finding, trace: Trace) -> str:
    """Returns the command that tries what the finding proposes, or nothing if no setting does that."""
    options, level = TRIALS.get(finding.rule, ("", ""))
    if not options or not len(trace.levels[level]):
        return ""
    return f"thalweg tune {options} -- {shlex.join(trace.report['command'])}"
