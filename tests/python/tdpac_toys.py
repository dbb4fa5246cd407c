"""Toys of coincidence spectra: Poisson counts about what a field makes, with detectors that differ."""

import math

import numpy as np

from thalweg import tdpac
from thalweg.tdpac.model import FieldModel

HAFNIUM = (
    tdpac.parse_config(
        'isotope = "181Hf"\nplaces = "axes"\nresolution = 300\nA22 = -0.216\n'
        "[[site]]\nomega0 = 0.8\neta = 0.3\ndelta = 0.02\n"
    ),
    {"A22": -0.216, "omega0": 0.8, "eta": 0.3, "delta": 0.02},
)
INDIUM = (
    tdpac.parse_config(
        'isotope = "111In"\nplaces = "axes"\nresolution = 300\nA22 = -0.135\nrange = [-800, 800]\n'
        "[[site]]\nlarmor = 0.1\ndelta = 0.01\n"
    ),
    {"A22": -0.135, "larmor": 0.1, "delta": 0.01},
)


def toy(
    config: tdpac.TdpacConfig,
    coincidences: float,
    seed: int,
    late_ps: tuple[float, ...] | None = None,
    time_zero_ps: float = 0.0,
    true_to_random: float = 100.0,
) -> tdpac.Spectra:
    """Returns spectra of about so many true coincidences. Efficiencies of pairs differ by a tenth."""
    random = np.random.default_rng(seed)
    detectors = 4 if config.places == "plane" else 6
    begin, width = round(config.range_ns[0] * 1000), config.bin_ps
    bins = round((config.range_ns[1] - config.range_ns[0]) * 1000 / width)
    edges = (begin + width * np.arange(bins + 1)) * 1e-3
    classes = tdpac.pair_classes(config.directions(detectors), config.sites)
    model = FieldModel(config, classes)
    counts = np.zeros((detectors, detectors, bins), np.int64)
    pairs = detectors * (detectors - 1)
    late = np.array(late_ps or (0.0,) * detectors)
    efficiency = np.exp(random.normal(0, 0.07, (2, detectors)))
    for number, each in enumerate(classes):
        for start, stop in each.pairs:
            zero = (time_zero_ps + late[stop] - late[start]) * 1e-3
            shape = model.shapes(model.start, edges - zero)[number]
            rate = coincidences / pairs * efficiency[0, start] * efficiency[1, stop]
            flat = rate * math.log(2) / config.half_life_ns * width * 1e-3 / true_to_random
            counts[start, stop] = random.poisson(rate * np.clip(shape, 0, None) + flat)
    names = tuple(f"ch{number}" for number in range(detectors))
    return tdpac.Spectra(names, begin, width, counts, (0.0,) * detectors)
