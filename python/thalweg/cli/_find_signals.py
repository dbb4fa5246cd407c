"""Finds the columns of a table that are waveforms, energies and timestamps, by their types and names."""

import re
from collections.abc import Iterator

import thalweg
from thalweg._base.errors import UsageError
from thalweg._schema.types import Type
from thalweg.cli._signals import Signals

_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_FEWEST_SAMPLES = 8
# "waveform_windowed" and "adc0", but neither "pulse_times" nor "tracelist".
_WAVEFORM = re.compile(r"(?:^|[^a-z])(?:(?:waveform|wf)s?(?:[^a-z]|$)|(?:wave|trace|pulse|sample|adc)s?[^a-z]*$)")
_SAMPLE_UNIT = re.compile(r"^adc\b")
_ENERGIES = ("energy_calibrated", "energy", "daqenergy")  # names that digitizers use, in order of preference


def signals_of(table: thalweg.Table, waveform: str = "") -> Signals | None:
    """Returns the signals of a table, or None if there is nothing to draw.

    `waveform` names the column of samples; without it, the column is found by its name.
    """
    signals = Signals(table)
    for path, type_ in _columns(table):
        wanted = path.removesuffix("/values") == waveform.removesuffix("/values") if waveform else None
        if wanted or (wanted is None and _is_named_as_waveform(table, path, type_)):
            _take_waveform(signals, path, type_)
        if not signals.timestamp and "timestamp" in path and "/" not in path and _is_number(type_):
            signals.timestamp, signals.timestamp_s = path, _SECONDS.get(type_.unit)
    for name in _ENERGIES:
        if not signals.energy and name in table.schema and _is_number(table.schema[name]):
            signals.energy, signals.energy_is_whole = name, "int" in table.schema[name].name
            signals.energy_unit = table.schema[name].unit or ("channels" if signals.energy_is_whole else "")
    return signals if signals.waveform or signals.energy or signals.timestamp else None


def check_waveform(run: thalweg.Run, names: list[str], column: str) -> None:
    """Raises UsageError if none of the tables has samples in a column of that name."""
    for name in names:
        found = dict(_columns(run[name]))
        if any(_is_samples(found.get(path)) for path in (column, f"{column}/values")):
            return
    raise UsageError(
        f"no table of {run.path} has a waveform '{column}' (a waveform is a list of numbers, or an array of one "
        f"dimension and at least {_FEWEST_SAMPLES} numbers); `thalweg inspect` shows the columns"
    )


def _columns(table: thalweg.Table) -> Iterator[tuple[str, Type]]:
    """Yields the fields, and the members of structs that occur once in a row."""
    for name, type_ in table.schema.items():
        yield name, type_
        if type_.name == "struct" and not type_.shape:
            yield from ((f"{name}/{member}", inner) for member, inner in type_.members)


def _is_named_as_waveform(table: thalweg.Table, path: str, type_: Type) -> bool:
    """Tells a waveform from other lists of numbers by its name and unit: nothing else distinguishes them."""
    struct, _, name = path.rpartition("/")
    if name == "values" and "dt" in dict(table.schema[struct].members):
        return True  # a struct {t0, dt, values} is a waveform of lh5, whatever its name is
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", path.removesuffix("/values").rpartition("/")[2]).lower()
    return bool(_WAVEFORM.search(words) or _SAMPLE_UNIT.search(type_.unit.lower()))


def _take_waveform(signals: Signals, path: str, type_: Type) -> None:
    struct = path.rpartition("/")[0]
    members = dict(signals.table.schema[struct].members) if struct else {}
    # A waveform whose sampling period is known is preferred to all others.
    if not _is_samples(type_) or signals.period or (signals.waveform and "dt" not in members):
        return
    signals.waveform, signals.sample_unit = path, type_.unit
    for member in ("t0", "dt"):
        if member in members and members[member].unit in ("ns", ""):
            setattr(signals, "start" if member == "t0" else "period", f"{struct}/{member}")


def _is_samples(type_: Type | None) -> bool:
    """Returns whether the type can hold a pulse: a list of numbers, or a long enough array of one dimension."""
    if type_ is None:
        return False
    if type_.element is not None:
        return not type_.shape and _is_number(type_.element)
    return _is_number(type_, rank=1) and type_.shape[0] >= _FEWEST_SAMPLES


def _is_number(type_: Type, rank: int = 0) -> bool:
    return type_.is_scalar and type_.dtype.kind in "iuf" and len(type_.shape) == rank
