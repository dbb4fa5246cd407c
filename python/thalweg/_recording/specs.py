"""Which devices a run has, from its options: those of `--device` (in a file: [[device]]), or the one of `--source`."""

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from thalweg._base import quantities
from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._devices.c_source import is_library
from thalweg._devices.description import OF_RECORDER, names_of_plug_ins
from thalweg._devices.known_settings import known_settings
from thalweg._recording.options import DeviceLoss, RecordOptions, SourceKind
from thalweg._recording.pulses import pulse_settings
from thalweg._recording.source import given_of_others, own_options, refusal

_CHANGE = "change"
# What a card holds when it is stopped was taken while it was read, so handing it out takes about as long.
_TRIED_DRAIN_S = 2.0


@dataclass(frozen=True)
class DeviceSpec:
    """A device that is to be opened."""

    source: str
    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    on_loss: DeviceLoss = DeviceLoss.reopen
    deadline_s: float = 10.0
    open_deadline_s: float = 60.0
    drain_s: float | None = None
    """How long it may hand out rows after it was stopped, if that is less than six deadlines."""
    is_slow: bool = False
    every_s: float | None = None
    """How often a value of a slow instrument gets a row; None: when it changes."""
    built_in: RecordOptions | None = None
    """The options of a source that is built in."""
    features: dict[str, Any] | None = None
    """How its process makes features of pulses, as plain values."""

    @property
    def title(self) -> str:
        """What messages and events call it."""
        return self.name or self.source

    @property
    def prefix(self) -> str:
        """What stands before the names of its tables."""
        return f"{self.name}_" if self.name else ""


def devices_of(options: RecordOptions) -> list[DeviceSpec]:
    """Returns the devices. Raises UsageError if the options of one are wrong."""
    if not options.device:
        settings = dict(_setting(text) for text in options.setting or [])
        return [_device(options, {"source": options.source}, settings)]
    if options.source != RecordOptions.source or options.setting:
        raise UsageError("--source and --setting cannot be given with --device: a device names its source and settings")
    specs = [_of_table(options, _table(text)) for text in options.device]
    titles = [spec.title for spec in specs]
    for title in titles:
        if titles.count(title) > 1:
            raise UsageError(f"two devices are called '{title}': give each a name of its own, as name = \"{title}2\"")
    return specs


def only_tried(spec: DeviceSpec, duration_s: float) -> DeviceSpec:
    """Returns a device that is opened once, read for so long, and that must soon be empty after that."""
    loss = spec.on_loss if spec.is_slow else DeviceLoss.end  # a slow instrument opens itself again
    return dataclasses.replace(spec, on_loss=loss, drain_s=_TRIED_DRAIN_S + duration_s)


def _table(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError:
        pass
    try:
        table = tomllib.loads(f"device = {text}")["device"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f'--device {text} is not a table of TOML ({error}): write {{source = "module:Class"}}'
        ) from None
    if not isinstance(table, dict):
        raise UsageError(f'--device {text} is not a table of TOML: write {{source = "module:Class"}}')
    return table


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--setting {text} is not of the form NAME=VALUE: write for example --setting channels=4")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value  # a text without quotes


def _of_table(options: RecordOptions, table: dict[str, Any]) -> DeviceSpec:
    if not isinstance(table.get("source"), str):
        raise UsageError(f'a device has no source (it is {table}): write source = "module:Class"')
    known = {name: table[name] for name in OF_RECORDER if name in table}
    for name, value in known.items():
        if not isinstance(value, str):
            raise UsageError(f"'{name}' of a device is {value!r}: give a text in quotes")
    return _device(options, known, {name: value for name, value in table.items() if name not in OF_RECORDER})


def _device(options: RecordOptions, known: Mapping[str, str], settings: dict[str, Any]) -> DeviceSpec:
    source, name = known["source"], known.get("name", "")
    if name and not name.isidentifier():
        raise UsageError(
            f"a device cannot be called '{name}': use letters, digits and _, since its tables get the name"
        )
    title = name or source
    is_slow = _is_slow(title, known)
    deadline_s, opening_s = (
        _deadline_s(f"'{key}' of device '{title}'" if key in known else option, known.get(key, otherwise))
        for key, option, otherwise in (
            ("deadline", "--device-deadline", options.device_deadline),
            ("open-deadline", "--open-deadline", options.open_deadline),
        )
    )
    if source in list(SourceKind):
        if is_slow:
            raise UsageError(f"{title} is no slow instrument (it is built in): leave out kind")
        if "on-loss" in known or options.on_device_loss != RecordOptions.on_device_loss:
            raise UsageError(f"it cannot be said what to do if {title} is lost (it is built in): leave it out")
        if settings and not options.device:
            raise UsageError(f"--setting cannot be given with --source {source} (it has options): leave it out")
        return DeviceSpec(source, name, settings, deadline_s=deadline_s, built_in=_built_in(options, source, settings))
    if ":" not in source and not is_library(source) and source not in names_of_plug_ins():
        names = [*SourceKind, *names_of_plug_ins()]
        raise UsageError(
            f"there is no source '{source}'{suggestion(source, names)}; a class of yours is module:Class, and a "
            "library ./library.so"
        )
    others = dataclasses.replace(options, source=source)
    plain = dataclasses.replace(others, features="", waveforms=RecordOptions.waveforms)
    if option := given_of_others(plain, ""):
        raise UsageError(refusal(others, option) + _as_setting(others, option))
    loss = known.get("on-loss", options.on_device_loss)
    if loss not in list(DeviceLoss):
        raise UsageError(f"'on-loss' of device '{title}' is '{loss}'{suggestion(loss, DeviceLoss)}")
    if is_slow:
        every = known.get("every", "1s")
        every_s = None
        if every != _CHANGE:
            every_s = quantities.of_option(f"'every' of device '{title}'", every, quantities.duration_ns) * 1e-9
        if every_s == 0:
            raise UsageError(f"'every' of device '{title}' is '{every}': give a time, as 1s, or \"change\"")
        return DeviceSpec(
            source, name, settings, DeviceLoss.reopen, deadline_s, opening_s, is_slow=True, every_s=every_s
        )
    features = pulse_settings(others).get("features")
    return DeviceSpec(source, name, settings, DeviceLoss(loss), deadline_s, opening_s, features=features)


def _as_setting(options: RecordOptions, name: str) -> str:
    """Returns the end of the sentence about an option that a class cannot have, if it has such a setting."""
    if name not in known_settings(options.source):
        return ""
    given = getattr(options, name)
    value = given.value if isinstance(given, Enum) else given
    setting = f"{name}={value}"
    if not options.device:
        return f"; write --setting {setting}"
    return f"; write {name} = {json.dumps(_setting(setting)[1])} in the table of the device"


def _deadline_s(what: str, text: str) -> float:
    seconds = quantities.of_option(what, text, quantities.duration_ns) * 1e-9
    if not seconds:
        raise UsageError(f"{what} {text} is no deadline (it is 0): give for example 10s")
    return seconds


def _is_slow(title: str, known: Mapping[str, str]) -> bool:
    """Returns whether it is a slow instrument. Raises UsageError if it has keys that do not go together."""
    kind = known.get("kind")
    if kind not in (None, "slow"):
        raise UsageError(f"'kind' of device '{title}' is '{kind}': write \"slow\", or leave it out")
    if kind is None and "every" in known:
        raise UsageError(f"'every' of device '{title}' is only for slow instruments: add kind = \"slow\"")
    if kind and "on-loss" in known:
        raise UsageError(f"'on-loss' of device '{title}' means nothing (a slow instrument ends no run): leave it out")
    return kind is not None


def _built_in(options: RecordOptions, source: str, settings: dict[str, Any]) -> RecordOptions:
    """Returns the options with those of the table of a source that is built in."""
    names = {name.replace("_", "-"): name for name in own_options(dataclasses.replace(options, source=source), source)}
    changed = {}
    for name, value in settings.items():
        if name not in names:
            raise UsageError(f"{source} has no setting '{name}'{suggestion(name, names)}")
        default = getattr(RecordOptions, names[name])
        try:
            changed[names[name]] = type(default)(value)
        except (TypeError, ValueError):
            raise UsageError(
                f"setting '{name}' of {source} cannot be {value!r}: give it as the option --{name}"
            ) from None
    return dataclasses.replace(options, source=source, **changed)
