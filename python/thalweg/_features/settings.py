"""How features are made of the samples of pulses: the table [features] of a configuration of `thalweg tdpac`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._base.toml_tables import check_names, read_tables
from thalweg._hyperfine.sites import number_of

IN_FILE = (
    "isotope", "tables", "timestamp", "energy", "start", "stop", "scale", "range", "bin", "delays", "resolution",
    "places", "half-angle", "half-life", "A22", "A44", "site", "fit", "kept-hits", "features", "calibration",
)  # fmt: skip
"""All names that a configuration of `thalweg tdpac` may have."""
FLAGS = {"saturated": 1, "piled-up": 2, "followed": 4, "unsteady-baseline": 8, "no-pulse": 16, "cut": 32}
POLARITIES = ("positive", "negative")
_NAMES = (
    "bits", "polarity", "waveform", "sample-period", "baseline", "gate", "fraction", "smooth", "threshold", "reject",
)  # fmt: skip
_EXAMPLE = "for example bits = 10"


@dataclass(frozen=True)
class FeatureSettings:
    """What [features] says. Times are in ns, levels in ADC."""

    bits: int
    is_negative: bool = False
    waveform: str = "waveform"
    sample_period_ns: float = 0.0
    """0: it is in the rows."""
    baseline_ns: float = 0.0
    """From the beginning of the record on. 0: a twentieth of the record."""
    gate_ns: tuple[float, float] = (-5.0, 100.0)
    fraction: float = 0.1
    smooth_ns: float = 1.0
    threshold_adc: float = 0.0
    """0: a hundredth of the ADC's range."""
    reject: tuple[str, ...] = ("saturated", "piled-up", "no-pulse", "cut")
    """The flags of hits that are no starts and no stops."""

    @property
    def least_adc(self) -> float:
        """The threshold that holds: what rises less is no pulse."""
        return self.to_core("").pulse.least_adc()

    @property
    def rejected(self) -> int:
        """The bits of the flags that are rejected."""
        return sum(FLAGS[name] for name in self.reject)

    def to_core(self, timestamp: str, keep_one_of: int = 1) -> _core.FeatureRowOptions:
        pulse = _core.FeatureOptions()
        pulse.bits, pulse.is_negative, pulse.baseline_ns = self.bits, self.is_negative, self.baseline_ns
        pulse.gate_begin_ns, pulse.gate_end_ns = self.gate_ns
        pulse.fraction, pulse.smooth_ns, pulse.threshold_adc = self.fraction, self.smooth_ns, self.threshold_adc
        options = _core.FeatureRowOptions()
        options.pulse, options.waveform, options.timestamp = pulse, self.waveform, timestamp
        options.sample_period_ns, options.keep_one_of = self.sample_period_ns, keep_one_of
        return options

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def from_plain(given: Mapping[str, Any]) -> tuple[FeatureSettings, _core.FeatureRowOptions]:
    """Returns the settings, and the options for rows, of what was JSON on its way to another process: `settings`, the
    column `timestamp`, and `keep_one_of`."""
    own: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given["settings"].items()
    }
    settings = FeatureSettings(**own)
    return settings, settings.to_core(given["timestamp"], given["keep_one_of"])


def load_features(path: str) -> tuple[FeatureSettings, str]:
    """Returns the features of a configuration, and its column of times. Raises UsageError if it cannot be read, has no
    [features], or a name or value is wrong."""
    given = read_tables(path)
    check_names(given, IN_FILE, path)
    if "features" not in given:
        raise UsageError(f"{path} does not say how features are made: add [features], with {_EXAMPLE}")
    timestamp = given.get("timestamp", "timestamp")
    if not isinstance(timestamp, str):
        raise UsageError(f"{path}: timestamp is {timestamp!r}: give a name")
    return parse_features(given["features"], path), timestamp


def parse_features(given: Any, where: str) -> FeatureSettings:
    """Returns the settings of a table [features]. Raises UsageError if a name or value is wrong."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{where}: 'features' is not a table: write [features]")
    where = f"{where}: [features]"
    check_names(given, _NAMES, where)
    if "bits" not in given:
        raise UsageError(f"{where} has no 'bits' (how many the ADC has says which pulses are saturated): {_EXAMPLE}")
    bits = given["bits"]
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 16:
        raise UsageError(f"{where}: bits is {bits!r}: give a whole number from 1 to 16")
    fraction = number_of(given.get("fraction", FeatureSettings.fraction), f"{where}: fraction", 0.01, 0.99)
    return FeatureSettings(
        bits=bits,
        is_negative=_one_of(given.get("polarity", POLARITIES[0]), POLARITIES, f"{where}: polarity") == "negative",
        waveform=_name(given.get("waveform", FeatureSettings.waveform), f"{where}: waveform"),
        sample_period_ns=_number(given, "sample-period", where, 1e-6),
        baseline_ns=_number(given, "baseline", where, 1e-6),
        gate_ns=_gate(given.get("gate", FeatureSettings.gate_ns), f"{where}: gate"),
        fraction=fraction,
        smooth_ns=number_of(given.get("smooth", FeatureSettings.smooth_ns), f"{where}: smooth"),
        threshold_adc=_number(given, "threshold", where, 1e-6, 65535.0),
        reject=_reject(given.get("reject", FeatureSettings.reject), f"{where}: reject"),
    )


def _number(given: Mapping[str, Any], name: str, where: str, least: float, most: float = 1e9) -> float:
    return number_of(given[name], f"{where}: {name}", least, most) if name in given else 0.0


def _name(given: Any, what: str) -> str:
    if not isinstance(given, str) or not given:
        raise UsageError(f"{what} is {given!r}: give the name of a column")
    return given


def _one_of(given: Any, known: Sequence[str], what: str) -> str:
    if given not in known:
        raise UsageError(f"{what} is {given!r}{suggestion(str(given), known)}")
    return str(given)


def _gate(given: Any, what: str) -> tuple[float, float]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise UsageError(f"{what} is {given!r}: give two times in ns, the earlier one first")
    begin, end = (number_of(each, what, -1e9, 1e9) for each in given)
    if begin >= end:
        raise UsageError(f"{what} is {given!r}: give two times in ns, the earlier one first")
    return begin, end


def _reject(given: Any, what: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise UsageError(f"{what} is {given!r}: give a list of flags ({', '.join(FLAGS)})")
    return tuple(_one_of(each, tuple(FLAGS), what) for each in given)
