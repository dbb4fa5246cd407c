"""Makes a source from options, in the same way in the recording process and in every producer process."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._base import quantities
from thalweg._base.errors import UsageError
from thalweg._base.paths import is_there
from thalweg._raw.settings import open_raw, raw_settings
from thalweg._recording.physics import physics_settings, set_physics
from thalweg._recording.pulses import pulse_settings, with_features

if TYPE_CHECKING:
    from thalweg._recording.options import RecordOptions

# An option that the chosen source does not have is an error and is not ignored.
_OF_DIGITIZER = (
    "channels", "rate", "records", "isotope", "physics", "samples", "sample_rate", "seed",
    "onboard_memory",
)  # fmt: skip
_OF_REPLAY = ("input", "loops", "compass_header", "allow_missing")
_OF_RAW = ("input", "row", "allow_missing")
_OF_PULSES = ("features", "waveforms")
_OWN = {
    "digitizer": _OF_DIGITIZER + _OF_PULSES,
    "replay": _OF_REPLAY + _OF_PULSES,
    "raw": _OF_RAW + _OF_PULSES,
}


def of_built_in() -> set[str]:
    """Returns the names of all options of sources that are built in."""
    return {name for names in _OWN.values() for name in names}


def options_of_others(sources: Iterable[str]) -> set[str]:
    """Returns the names of options that none of these sources has, of all sources that a run may have."""
    return of_built_in() - {name for source in sources for name in _OWN.get(source, _OF_PULSES)}


def own_options(options: "RecordOptions", source: str) -> tuple[str, ...]:
    """Returns the options of a source that is built in. Raises UsageError if one of another source is given."""
    if name := given_of_others(options, source):
        raise UsageError(refusal(options, name))
    return _OWN.get(source, ())


def given_of_others(options: "RecordOptions", source: str) -> str:
    """Returns the name of an option that is given and that only other sources have, or an empty text."""
    names = dict.fromkeys(name for names in _OWN.values() for name in names if name not in _OWN.get(source, ()))
    return next((name for name in names if getattr(options, name) != getattr(type(options), name)), "")


def refusal(options: "RecordOptions", name: str) -> str:
    option = "--" + name.replace("_", "-")
    owners = " or ".join(own for own, names in _OWN.items() if name in names)
    return f"{option} cannot be given with --source {options.source} (only with --source {owners})"


def settings(options: "RecordOptions") -> dict[str, Any]:
    """Returns what `open_source` needs, as plain values. Raises UsageError if options are wrong."""
    own_options(options, options.source)
    pulses = pulse_settings(options)
    if options.source == "raw":
        return {**raw_settings(options.input, options.row), **pulses}
    if options.source == "replay":
        if not options.input:
            raise UsageError("--source replay has no file to replay: give --input FILE")
        if not is_there(options.input):
            raise UsageError(f"{options.input} cannot be replayed (there is no such file)")
        return {
            "kind": "replay",
            "path": os.path.abspath(options.input),
            "loops": options.loops,
            "compass_header": _header(options.compass_header),
            **pulses,
        }
    rate = quantities.of_option("--rate", options.rate, quantities.rate)
    physics = physics_settings(options.physics, options.isotope.value, options.channels) if options.physics else {}
    return {
        "kind": "digitizer",
        **pulses,
        "rate": options.rate,
        "physics": physics,
        "card": {
            "channels": options.channels,
            "record_limit": options.records,
            "isotope": options.isotope.value,
            "record_samples": options.samples,
            "sample_rate_hz": quantities.of_option("--sample-rate", options.sample_rate, _samples_per_s),
            "seed": options.seed,
            "waveforms": bool(pulses) or options.waveforms == "all",
            "onboard_bytes": quantities.of_option("--onboard-memory", options.onboard_memory, quantities.size_bytes),
            # With a rate, the card's own clock ends the run, so that the same options give the same records.
            "duration_ns": 0 if rate.is_max else quantities.duration_ns(options.duration),
        },
    }


def open_source(settings: dict[str, Any], start_ns: int = 0) -> _core.Source:
    """Opens the source. `start_ns` is the time, by the monotonic clock, at which the clock of the card is 0."""
    source = _open_samples(settings, start_ns)
    return with_features(source, settings["features"]) if "features" in settings else source


def _open_samples(settings: dict[str, Any], start_ns: int) -> _core.Source:
    if settings["kind"] == "raw":
        return open_raw(settings)
    if settings["kind"] == "replay":
        replay = _core.ReplayOptions()
        replay.loops = settings["loops"]
        compass = _core.CompassOptions()
        compass.header = settings["compass_header"]
        return _core.open_recorded(settings["path"], replay, compass)
    card = _core.DigitizerOptions()
    for name, value in settings["card"].items():
        setattr(card, name, value)
    if settings["physics"]:
        set_physics(card, settings["physics"])
    card.rate = quantities.rate(settings["rate"])
    card.start_ns = start_ns
    return _core.make_digitizer(card)


def _header(text: str) -> int | None:
    if not text:
        return None
    try:
        value = int(text, 16)
    except ValueError:
        value = 0
    if value & 0xFFF0 != 0xCAE0:
        raise UsageError(f"--compass-header {text} is not a header of CoMPASS: give two bytes, 0xCAE0 to 0xCAEF")
    return value


def _samples_per_s(text: str) -> float:
    return quantities.frequency_hz(text, "S/s")


def has_clock(settings: dict[str, Any]) -> bool:
    """Returns whether triggers come at a fixed rate, and not as fast as they are read."""
    return settings["kind"] == "digitizer" and not quantities.rate(settings["rate"]).is_max
