"""Judges hints, properties and variables that were set: in effect, overruled, inert, or it cannot be told.

Reported hints count only if the I/O component of MPI reports what is in effect: ROMIO of MPICH and of Open MPI 5 do;
Open MPI 4 and OMPIO return the request. All else is concluded from which ranks wrote which bytes, from locks, and from
the files that were opened. `settings_hdf5.py` has the properties of HDF5.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thalweg._explain.findings import Finding, aggregators_of, of_kind, outer_of
from thalweg._explain.judged import Judged
from thalweg._explain.settings_hdf5 import properties_of_files
from thalweg._explain.settings_variables import variables
from thalweg._trace.trace_file import Trace

COLLECTIVE_HINTS = ("cb_nodes", "cb_config_list", "cb_buffer_size", "romio_cb_write", "romio_cb_read")
BEHIND_PFR = ("romio_cb_fr_types", "romio_cb_fr_alignment", "romio_cb_ds_threshold", "romio_cb_alltoall")


def judge(trace: Trace) -> list[Judged]:
    """Returns all settings: hints and properties once for each file, variables once for each value."""
    return [*_hints(trace), *properties_of_files(trace), *variables(trace)]


def _hints(trace: Trace) -> list[Judged]:
    asked: dict[tuple[int, str], str] = {}
    reported: dict[int, dict[str, str]] = {}
    for each in trace.settings:
        if each["origin"] == "asked":
            asked[each["file"], each["name"]] = each["value"]
        elif each["origin"] == "reported":
            reported.setdefault(each["file"], {})[each["name"]] = each["value"]
    found = []
    for (number, name), value in sorted(asked.items()):
        says = reported.get(number, {})
        # ROMIO reports this name; other implementations return the hints that they were given.
        is_truthful = "romio_filesystem_type" in says
        state, why = _state(trace, number, name, value, says if is_truthful else None)
        found.append(Judged("hint", trace.files[number], name, value, says.get(name), state, why))
    return found


def _state(trace: Trace, file: int, name: str, value: str, says: dict[str, str] | None) -> tuple[str, str]:
    if says is None:
        return "cannot be told", "this MPI-IO returns the hints that it was given"
    if name not in says:
        return "inert", "the library does not know this name"
    if says[name] != value:
        return "overruled", f"{says[name]} is in effect"
    if name in BEHIND_PFR and says.get("romio_cb_pfr") != "enable":
        return "inert", "it has an effect only with romio_cb_pfr=enable"
    if name in COLLECTIVE_HINTS and (why := _why_not_collective(trace, file, says)) is not None:
        return "inert", why
    return "in effect", "the library reports it"


def _why_not_collective(trace: Trace, file: int, says: dict[str, str]) -> str | None:
    """Returns why aggregators did not write, or None if they did, or if nothing was written."""
    calls = trace.levels["mpi"]
    writes = of_kind(calls.where(calls.file == file), "write")
    if not len(writes):
        return None
    is_collective = np.array(["_all" in name or "_ordered" in name for name in writes.name])
    if not is_collective.any():
        return f"all {len(writes):,} writes are independent"
    if says.get("romio_cb_write") == "disable":
        return "romio_cb_write=disable"
    aggregators = set(aggregators_of(trace, file, says.get("romio_aggregator_list", "")))
    posix = trace.posix
    mine = of_kind(posix.where((posix.file == file) & (posix.rank >= 0)), "write")
    # Other writes, such as those of HDF5's metadata, say nothing about collective writes.
    mine = mine.where(outer_of(mine, writes.where(is_collective)) >= 0)
    writers = {int(rank) for rank in np.unique(mine.rank)}
    if writers and not writers <= aggregators:
        return (
            f"ranks {_listed(writers)} wrote, but the aggregators are {_listed(aggregators)}: the writes of ranks are "
            "not interleaved, and romio_cb_write is automatic"
        )
    return None


def _listed(ranks: set[int]) -> str:
    return ", ".join(map(str, sorted(ranks)))


def settings_without_effect(trace: Trace) -> Iterator[Finding]:
    for each in judge(trace):
        if each.state in ("overruled", "inert"):
            yield Finding(
                f"the {each.kind} {each.name}={each.asked} is {each.state}: {each.why}",
                each.file,
                0,
                0,
                0.0,
                0.0,
                "settings",
                f"name == '{each.name}'",
                {"name": each.name, "asked": each.asked, "reported": each.reported, "state": each.state},
            )
