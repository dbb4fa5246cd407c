"""Judges hints, properties and variables that were set: in effect, overruled, inert, or it cannot be told.

Reported hints count only if the I/O component of MPI reports what is in effect: ROMIO of MPICH and of Open MPI 5 do;
Open MPI 4 and OMPIO return the request (`open_mpi.py`). All else is concluded from which ranks wrote which bytes, from
locks, and from the files that were opened. `settings_hdf5.py` has the properties of HDF5.
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._explain import open_mpi
from thalweg._explain.effects import effect_of_hint
from thalweg._explain.findings import Finding
from thalweg._explain.judged import Judged
from thalweg._explain.settings_hdf5 import properties_of_files
from thalweg._explain.settings_variables import variables
from thalweg._trace.trace_file import Trace

BEHIND_PFR = ("romio_cb_fr_types", "romio_cb_fr_alignment", "romio_cb_ds_threshold", "romio_cb_alltoall")


def judge(trace: Trace) -> list[Judged]:
    """Returns all settings: hints and properties once for each file, variables once for each value."""
    return [*_hints(trace), *properties_of_files(trace), *variables(trace)]


def _hints(trace: Trace) -> list[Judged]:
    asked: dict[tuple[int, str], str] = {}
    of_files = {(each["file"], each["name"]) for each in trace.settings if each["origin"] == "hints file"}
    of_files -= {(each["file"], each["name"]) for each in trace.settings if each["origin"] == "asked"}
    reported: dict[int, dict[str, str]] = {}
    for each in trace.settings:
        if each["origin"] in ("hints file", "asked"):
            asked[each["file"], each["name"]] = each["value"]
        elif each["origin"] == "reported":
            reported.setdefault(each["file"], {})[each["name"]] = each["value"]
    found = []
    for (number, name), value in sorted(asked.items()):
        says = reported.get(number, {})
        # ROMIO reports this name; other implementations return the hints that they were given.
        is_truthful = "romio_filesystem_type" in says
        kind = "hint of a file" if (number, name) in of_files else "hint"
        if is_truthful:
            state, why = _state(trace, number, name, value, says)
        else:
            state, why = _state_without_report(trace, number, name, value, kind)
        found.append(Judged(kind, trace.files[number], name, value, says.get(name), state, why))
    return found


def _state_without_report(trace: Trace, file: int, name: str, value: str, kind: str) -> tuple[str, str]:
    if open_mpi.component_of(open_mpi.modules_of(trace, file)) != "ompio":
        return "cannot be told", "this MPI-IO returns the hints that it was given"
    if kind == "hint of a file":
        return "inert", "OMPIO reads no file of hints"
    return open_mpi.state_of_hint(trace, file, name, value)


def _state(trace: Trace, file: int, name: str, value: str, says: dict[str, str]) -> tuple[str, str]:
    if name not in says:
        return "inert", "the library does not know this name"
    if says[name] != value:
        return "overruled", f"{says[name]} is in effect"
    if name in BEHIND_PFR and says.get("romio_cb_pfr") != "enable":
        return "inert", "it has an effect only with romio_cb_pfr=enable"
    return effect_of_hint(trace, file, name, value, says)


def settings_without_effect(trace: Trace) -> Iterator[Finding]:
    for each in judge(trace):
        # A file of hints serves many programs: a hint of it need not matter for each, but should be known.
        is_fit = each.kind != "hint of a file" or each.reported is None
        if each.state in ("overruled", "inert") and is_fit:
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
