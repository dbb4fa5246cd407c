"""The physics of the emulated digitizer, from a file of TOML: places and differences of detectors, and fields."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._base.toml_tables import check_names, read_tables
from thalweg._hyperfine.isotopes import CASCADES
from thalweg._hyperfine.places import places_of
from thalweg._hyperfine.sites import Site, number_of, sites_of

# Numbers of the file, the members of DigitizerOptions that they become, and the largest values.
_OF_CARD = {
    "activity": ("activity_hz", math.inf),
    "coincidence-fraction": ("coincidence_fraction", 1.0),
    "background-fraction": ("background_fraction", 1.0),
    "time-resolution": ("time_resolution_ps", math.inf),
    "energy-resolution": ("energy_resolution", 1.0),
    "pulses": ("pool_pulses", 10_000_000),
}
_OF_DETECTOR = {
    "gain": ("gain", 0.0),
    "drift": ("drift_per_hour", -math.inf),
    "efficiency": ("efficiency", 0.0),
    "delay": ("delay_ps", -math.inf),
    "time-resolution": ("time_resolution_ps", 0.0),
    "energy-resolution": ("energy_resolution", 0.0),
}
_OTHERS = ("places", "half-angle", "A22", "A44", "site", "detector")


def physics_settings(path: str, isotope: str, channels: int) -> dict[str, Any]:
    """Returns what `physics_of` needs, as plain values, and is the truth of the run. Raises UsageError if the file
    cannot be read or a value is wrong."""
    given = read_tables(path)
    check_names(given, [*_OF_CARD, *_OTHERS], path)
    if isotope not in CASCADES:
        raise UsageError(f"{path} describes cascades, and the isotope is '{isotope}': choose {' or '.join(CASCADES)}")
    card = {
        member: number_of(given[name], f"{path}: {name}", 0.0, most)
        for name, (member, most) in _OF_CARD.items()
        if name in given
    }
    if "pool_pulses" in card:
        card["pool_pulses"] = int(card["pool_pulses"])
    cascade = CASCADES[isotope]
    return {
        "card": card,
        "A22": number_of(given.get("A22", cascade.a22), f"{path}: A22", -1.0, 1.0),
        "A44": number_of(given.get("A44", cascade.a44), f"{path}: A44", -1.0, 1.0),
        "half_angle": number_of(given.get("half-angle", 0.0), f"{path}: half-angle", 0.0, 89.0),
        "places": places_of(given.get("places"), channels, path).tolist(),
        "site": [_plain(site) for site in sites_of(given.get("site"), path)],
        "detector": _detectors(given.get("detector"), channels, path),
    }


def _plain(site: Site) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(site).items()}


def _detectors(tables: Any, channels: int, path: str) -> list[dict[str, float]]:
    if tables is None:
        return [{} for _ in range(channels)]
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError(f"{path}: 'detector' is not a list of tables: write [[detector]]")
    if len(tables) != channels:
        raise UsageError(f"{path} describes {len(tables)} detectors, and there are {channels} channels")
    found = []
    for number, table in enumerate(tables):
        where = f"{path}: detector {number}"
        for name in table:
            if name not in _OF_DETECTOR:
                raise UsageError(f"{where} has no '{name}'{suggestion(name, _OF_DETECTOR)}")
        found.append(
            {
                member: number_of(table[name], f"{where}: {name}", least)
                for name, (member, least) in _OF_DETECTOR.items()
                if name in table
            }
        )
    return found


def set_physics(card: _core.DigitizerOptions, settings: dict[str, Any]) -> None:
    """Gives an emulated card the physics of `physics_settings`."""
    for name, value in settings["card"].items():
        setattr(card, name, value)
    physics = _core.Physics()
    physics.a22, physics.a44 = settings["A22"], settings["A44"]
    physics.half_angle_rad = math.radians(settings["half_angle"])
    physics.sites = [_site_of(Site(**table)) for table in settings["site"]]
    detectors = []
    for place, table in zip(settings["places"], settings["detector"], strict=True):
        detector = _core.DetectorOptions()
        detector.place = place
        for name, value in table.items():
            setattr(detector, name, value)
        detectors.append(detector)
    physics.detectors = detectors
    physics.description = json.dumps(settings)
    card.physics = physics


def _site_of(site: Site) -> _core.FieldSite:
    made = _core.FieldSite()
    made.fraction, made.delta, made.is_gauss = site.fraction, site.delta, site.shape == "gauss"
    if site.axis is not None:
        made.axis, made.larmor_per_ns = list(site.axis), site.larmor
        return made
    found = []
    for omega, weight2, weight4 in np.array(site.lines()).T.tolist():
        line = _core.PerturbationLine()
        line.omega_per_ns, line.weight2, line.weight4 = omega, weight2, weight4
        found.append(line)
    made.lines = found
    return made
