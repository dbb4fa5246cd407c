"""Which settings are tried: those that the user names, or all that a traced run gives a reason for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from thalweg._base.errors import UsageError
from thalweg._trace.trace_file import Trace
from thalweg._tune.settings import HDF5, OMPIO, ROMIO, SETTINGS, THALWEG, Chosen


def choose(given: Iterable[str], *, may_change_file: bool) -> list[Chosen]:
    """Returns the settings that are meant by NAME=VALUE. Raises UsageError if one is unknown, or its value is wrong."""
    known = {each.name: each for each in SETTINGS}
    found: dict[str, Chosen] = {}
    for text in given:
        name, is_there, value = text.partition("=")
        if not is_there:
            raise UsageError(f"'{text}' is no setting (it has no '='): write NAME=VALUE")
        setting = known.get(name)
        if setting is None:
            raise _unknown(name, known)
        if name in found:
            raise UsageError(f"the setting '{name}' is given twice: try one value at a time")
        try:
            parsed = setting.parse(value)
        except UsageError as error:
            raise UsageError(f"{name} cannot be tried ({error}): it takes {setting.takes}") from None
        if setting.changes_file and not may_change_file:
            raise UsageError(
                f"{name} is not tried (it changes how the file is laid out): --may-change-file allows it, and says "
                "what becomes of the size"
            )
        found[name] = Chosen(setting, value, parsed)
    return list(found.values())


def libraries_of(trace: Trace) -> set[str]:
    """Returns the libraries with settings that the command has called."""
    found = set()
    if len(trace.levels["hdf5"]):
        found.add(HDF5)
    if len(trace.levels["mpi"]):
        found |= {OMPIO, ROMIO} if "Open MPI" in mpi_of(trace) else {ROMIO}
    if len(trace.levels["work"]):
        found.add(THALWEG)
    return found


def mpi_of(trace: Trace) -> str:
    """Returns the MPI of the command as it names itself; empty: it has called none."""
    return ", ".join(trace.report.get("libraries", ()))


def check_names(names: Iterable[str]) -> None:
    """Raises UsageError if there is no setting of one of these names."""
    known = {each.name for each in SETTINGS}
    for name in names:
        if name not in known:
            raise _unknown(name, known)


def _unknown(name: str, known: Iterable[str]) -> UsageError:
    near = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean '{near[0]}'?" if near else "`thalweg tune --list` names them"
    return UsageError(f"there is no setting '{name}': {advice}")


def candidates(
    libraries: Iterable[str], only: Collection[str], more: Iterable[Chosen] = (), *, may_change_file: bool
) -> list[Chosen]:
    """Returns each value that is worth a run of a command that uses these libraries. only: of these settings, if any
    is named. more: values for which there is a reason, beside those that are tried of any command."""
    used = set(libraries)
    found = [
        Chosen(setting, value, setting.parse(value))
        for setting in SETTINGS
        if setting.library in used and (may_change_file or not setting.changes_file)
        if not only or setting.name in only
        for value in setting.tried
    ]
    known = {str(each) for each in found}
    return found + [each for each in more if str(each) not in known and (not only or each.setting.name in only)]
