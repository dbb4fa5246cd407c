"""The configuration of an analysis: which hits are starts and stops, where the detectors are, and what is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._base.toml_tables import check_names, parse_tables, read_text
from thalweg._features.settings import IN_FILE, FeatureSettings, parse_features
from thalweg._hits.calibration import EVERY, TOLERANCE, GainFollower
from thalweg._hyperfine.isotopes import CASCADES, Cascade, peak_window_kev
from thalweg._hyperfine.places import Directions, places_of
from thalweg._hyperfine.sites import FREQUENCIES, NUMBERS, Site, number_of, sites_of

_HALF_LIVES = 14
"""The spectra reach so far to both sides, if the configuration does not say it."""
METHODS = ("auto", "ratio", "spectra")
_OF_FIT = ("begin", "end", "method", "free")


@dataclass(frozen=True)
class TdpacConfig:
    """What `load_config` reads. Energies are in the unit of the energy column, times in ns, delays in ps."""

    isotope: str
    cascade: Cascade
    start: tuple[float, float]
    stop: tuple[float, float]
    range_ns: tuple[float, float]
    bin_ps: int
    sites: tuple[Site, ...]
    tables: tuple[str, ...] = ()
    """The tables of the detectors, in the order of the places. Empty: all that have the columns."""
    timestamp: str = "timestamp"
    energy: str = "energy"
    scale: tuple[float, ...] = ()
    """By what the energies of each detector are multiplied. Empty: by 1."""
    delays_ps: tuple[float, ...] | None = None
    """How late each detector is. None: they are fitted."""
    resolution_ps: float | None = None
    places: Any = None
    half_angle_deg: float = 0.0
    half_life_ns: float = 0.0
    a22: float = 0.0
    a44: float = 0.0
    fit_begin_ns: float = 1.0
    fit_end_ns: float | None = None
    method: str = "auto"
    free: tuple[str, ...] = ()
    """The parameters of the field fit that are free, such as "omega0" or "eta_2"."""
    kept_hits: int = 4_000_000
    features: FeatureSettings | None = None
    """How energies and times are made of samples."""
    has_timestamp: bool = False
    """Whether the configuration names the column of times."""
    text: str = ""
    """The file, as it was read."""

    peaks: Mapping[str, float] = field(default_factory=dict)
    """The energies of peaks in keV, by name, by which the energies are calibrated. Empty: they are not."""
    peak_hits: int = EVERY
    """To so many hits in a row the gain is fitted."""
    peak_tolerance: float = TOLERANCE

    def follower_of(self, detector: int) -> GainFollower | None:
        """Returns what calibrates the energies of a detector, or None if they are not calibrated."""
        if not self.peaks:
            return None
        about = self.scale[detector] if self.scale else None
        return GainFollower(self.peaks, about, self.peak_hits, self.peak_tolerance)

    def windows_of(self, detector: int) -> dict[str, tuple[float, float]]:
        """Returns the energy windows of a detector, by "start" and "stop", in the unit of its column, or in keV if it
        is calibrated."""
        scale = self.scale[detector] if self.scale and not self.peaks else 1.0
        of_all = {"start": self.start, "stop": self.stop}
        return {kind: (low / scale, high / scale) for kind, (low, high) in of_all.items()}

    def directions(self, detectors: int) -> Directions:
        """Returns the places of so many detectors. Raises UsageError if they are not known."""
        return places_of(self.places, detectors, "the configuration")


def load_config(path: str | Path) -> TdpacConfig:
    """Reads a configuration in TOML. Raises UsageError if it cannot be read, or a value is wrong."""
    return parse_config(read_text(path), str(path))


def parse_config(text: str, where: str = "the configuration") -> TdpacConfig:
    """Returns the configuration of a text in TOML. Raises UsageError if a value is wrong; `where` is its name."""
    given = parse_tables(text, where)
    check_names(given, IN_FILE, where)
    isotope = given.get("isotope", "181Hf")
    if isotope not in CASCADES:
        raise UsageError(f"{where}: there is no isotope '{isotope}' (there are {', '.join(CASCADES)})")
    cascade = CASCADES[isotope]
    fit = given.get("fit", {})
    if not isinstance(fit, Mapping):
        raise UsageError(f"{where}: 'fit' is not a table: write [fit]")
    check_names(fit, _OF_FIT, f"{where}: [fit]")
    sites = sites_of(given.get("site"), where)
    reach = round(_HALF_LIVES * cascade.half_life_ns)
    range_ns = _pair(given.get("range", [-reach, reach]), f"{where}: range")
    bin_ps = round(1000 * number_of(given.get("bin", cascade.bin_ns), f"{where}: bin", 0.001, 1e6))
    if abs(range_ns[0] * 1000 % bin_ps) > 1e-6 or not range_ns[0] < 0 < range_ns[1]:
        raise UsageError(
            f"{where}: the range {list(range_ns)} ns does not begin below 0 at a whole number of bins of {bin_ps} ps"
        )
    method = fit.get("method", "auto")
    if method not in METHODS:
        raise UsageError(f"{where}: there is no method '{method}' (there are {', '.join(METHODS)})")
    end = fit.get("end")
    delays = given.get("delays")
    return TdpacConfig(
        isotope=isotope,
        cascade=cascade,
        start=_window(given.get("start"), cascade.start_kev, f"{where}: start"),
        stop=_window(given.get("stop"), cascade.stop_kev, f"{where}: stop"),
        range_ns=range_ns,
        bin_ps=bin_ps,
        sites=sites,
        tables=_texts(given.get("tables", []), f"{where}: tables"),
        timestamp=_text(given.get("timestamp", "timestamp"), f"{where}: timestamp"),
        energy=_text(given.get("energy", "energy"), f"{where}: energy"),
        scale=_numbers(given.get("scale", []), f"{where}: scale"),
        delays_ps=None if delays is None else _numbers(delays, f"{where}: delays"),
        resolution_ps=number_of(given["resolution"], f"{where}: resolution") if "resolution" in given else None,
        places=given.get("places"),
        half_angle_deg=number_of(given.get("half-angle", 0.0), f"{where}: half-angle", 0.0, 89.0),
        half_life_ns=number_of(given.get("half-life", cascade.half_life_ns), f"{where}: half-life", 1e-3),
        a22=number_of(given.get("A22", cascade.a22), f"{where}: A22", -1.0, 1.0),
        a44=number_of(given.get("A44", cascade.a44), f"{where}: A44", -1.0, 1.0),
        fit_begin_ns=number_of(fit.get("begin", 1.0), f"{where}: begin of the fit"),
        fit_end_ns=None if end is None else number_of(end, f"{where}: end of the fit"),
        method=method,
        free=_free(fit.get("free"), sites, f"{where}: [fit]"),
        kept_hits=int(number_of(given.get("kept-hits", 4_000_000), f"{where}: kept-hits", 1)),
        features=parse_features(given["features"], where) if "features" in given else None,
        has_timestamp="timestamp" in given,
        **_calibration(given.get("calibration"), cascade, f"{where}: [calibration]"),
        text=text,
    )


def _calibration(given: Any, cascade: Cascade, where: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} is no table: write [calibration]")
    check_names(given, ("peaks", "hits", "tolerance"), where)
    peaks = given.get("peaks", {"start": cascade.start_kev, "stop": cascade.stop_kev})
    if not isinstance(peaks, Mapping) or not peaks:
        raise UsageError(f'{where}: peaks is {peaks!r}: give energies in keV by name, as {{"133" = 133.0}}')
    energies = {name: number_of(kev, f"{where}: peak {name}", 1.0, 1e5) for name, kev in peaks.items()}
    hits = number_of(given.get("hits", EVERY), f"{where}: hits", 1000, 1e9)
    tolerance = number_of(given.get("tolerance", TOLERANCE), f"{where}: tolerance", 1e-4, 0.5)
    return {"peaks": energies, "peak_hits": int(hits), "peak_tolerance": tolerance}


def name_of(parameter: str, site: int) -> str:
    """Returns the name of a parameter of a site: "omega0" of the first one, "omega0_2" of the second."""
    return parameter if site == 0 else f"{parameter}_{site + 1}"


def _free(given: Any, sites: tuple[Site, ...], where: str) -> tuple[str, ...]:
    known = ["A22", "A44", *(name_of(each, number) for number in range(len(sites)) for each in NUMBERS)]
    if given is not None:
        for name in _texts(given, f"{where} free"):
            if name not in known:
                raise UsageError(f"{where} there is no parameter '{name}'{suggestion(name, known)}")
        for number, site in enumerate(sites):
            for each in FREQUENCIES:
                if name_of(each, number) in given and not getattr(site, each):
                    raise UsageError(
                        f"{where} '{name_of(each, number)}' is free and begins at 0 (it is searched from a quarter of "
                        "its start value to four times as much): give its [[site]] about the right value"
                    )
        return tuple(given)
    free = ["A22"]
    for number, site in enumerate(sites):
        own = [each for each in ("omega0", "eta", "larmor") if getattr(site, each) > 0]
        own += ["delta"] if own and site.axis is None else []
        # The fractions are 1 together, so the last one follows from the others.
        own += ["fraction"] if number < len(sites) - 1 else []
        free += [name_of(each, number) for each in own]
    return tuple(free)


def _window(given: Any, peak_kev: float, what: str) -> tuple[float, float]:
    return peak_window_kev(peak_kev) if given is None else _pair(given, what)


def _pair(given: Any, what: str) -> tuple[float, float]:
    numbers = _numbers(given, what)
    if len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise UsageError(f"{what} is {given!r}: give two numbers, the smaller one first")
    return numbers[0], numbers[1]


def _numbers(given: Any, what: str) -> tuple[float, ...]:
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in given):
        raise UsageError(f"{what} is {given!r}: give a list of numbers, as [1.5, 2]")
    return tuple(float(each) for each in given)


def _texts(given: Any, what: str) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise UsageError(f"{what} is {given!r}: give a list of names")
    return tuple(given)


def _text(given: Any, what: str) -> str:
    if not isinstance(given, str):
        raise UsageError(f"{what} is {given!r}: give a name")
    return given
