"""Which columns of a table are waveforms, energies and timestamps: told by their types and names."""

import re
from collections.abc import Iterator

import thalweg
from thalweg._errors import UsageError
from thalweg._types import Type
from thalweg.cli._signals import Signals

_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_FEWEST_SAMPLES = 8
# "waveform_windowed" and "adc0", but neither "pulse_times" nor "tracelist".
_WAVEFORM = re.compile(r"(?:^|[^a-z])(?:(?:waveform|wf)s?(?:[^a-z]|$)|(?:wave|trace|pulse|sample|adc)s?[^a-z]*$)")
_SAMPLE_UNIT = re.compile(r"^adc\b")
_ENERGIES = ("energy_calibrated", "energy", "daqenergy")  # what digitizers call theirs, the best first


def signals_of(table: thalweg.Table, waveform: str = "") -> Signals | None:
    """None where there is nothing to draw. `waveform`: the column whose samples are meant, where the table has it."""
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
    """Raises UsageError where no table has samples of that name."""
    for name in names:
        found = dict(_columns(run[name]))
        if any(_is_samples(found.get(path)) for path in (column, f"{column}/values")):
            return
    raise UsageError(
        f"no table of {run.path} has a waveform '{column}' (a list, or an array of one rank and at least "
        f"{_FEWEST_SAMPLES}, of numbers); `thalweg inspect` shows the columns"
    )


def _columns(table: thalweg.Table) -> Iterator[tuple[str, Type]]:
    """Fields, and members of structs of which a row has one."""
    for name, type_ in table.schema.items():
        yield name, type_
        if type_.name == "struct" and not type_.shape:
            yield from ((f"{name}/{member}", inner) for member, inner in type_.members)


def _is_named_as_waveform(table: thalweg.Table, path: str, type_: Type) -> bool:
    """Nothing but its name and unit tells a waveform from any other list of numbers."""
    struct, _, name = path.rpartition("/")
    if name == "values" and "dt" in dict(table.schema[struct].members):
        return True  # {t0, dt, values} is lh5's waveform, whatever its name
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", path.removesuffix("/values").rpartition("/")[2]).lower()
    return bool(_WAVEFORM.search(words) or _SAMPLE_UNIT.search(type_.unit.lower()))


def _take_waveform(signals: Signals, path: str, type_: Type) -> None:
    struct = path.rpartition("/")[0]
    members = dict(signals.table.schema[struct].members) if struct else {}
    # One that tells its times is better than any other.
    if not _is_samples(type_) or signals.period or (signals.waveform and "dt" not in members):
        return
    signals.waveform, signals.sample_unit = path, type_.unit
    for member in ("t0", "dt"):
        if member in members and members[member].unit in ("ns", ""):
            setattr(signals, "start" if member == "t0" else "period", f"{struct}/{member}")


def _is_samples(type_: Type | None) -> bool:
    """Numbers in a row: an array of one rank that is long enough for a pulse, or a list."""
    if type_ is None:
        return False
    if type_.element is not None:
        return not type_.shape and _is_number(type_.element)
    return _is_number(type_, rank=1) and type_.shape[0] >= _FEWEST_SAMPLES


def _is_number(type_: Type, rank: int = 0) -> bool:
    return type_.is_scalar and type_.dtype.kind in "iuf" and len(type_.shape) == rank
