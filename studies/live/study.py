"""study.py [--toys N] [--hits N] [--out FILE]: how exact fits of TDPAC spectra are, and what counting them costs.

Toys are Poisson spectra about the expected ones. Runs are recorded by the emulated digitizer, and analysed by the
command.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "python"))

from tdpac_toys import HAFNIUM, INDIUM, toy  # noqa: E402

from thalweg import tdpac  # noqa: E402

PHYSICS = "coincidence-fraction = 0.6\n[[site]]\nomega0 = 0.8\neta = 0.3\ndelta = 0.02\n"
CONFIG = 'places = "axes"\nisotope = "181Hf"\n[[site]]\nomega0 = 0.78\neta = 0.2\ndelta = 0.01\n'


def pulls(case: Any, coincidences: float, toys: int, fit: Callable[..., tdpac.Fitted]) -> dict[str, Any]:
    """Returns mean and width of the pulls, and the median error in percent, of each parameter."""
    config, truth = case
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    found: dict[str, list[float]] = {name: [] for name in truth}
    errors: dict[str, list[float]] = {name: [] for name in truth}
    failed = 0
    for seed in range(toys):
        fitted = fit(toy(config, coincidences, seed=1000 + seed), classes, config)
        if not fitted.is_valid:
            failed += 1
            continue
        for name, value in truth.items():
            found[name].append((fitted.values[name] - value) / fitted.errors[name])
            errors[name].append(100 * fitted.errors[name] / abs(value))
    return {
        "toys": toys,
        "not_converged": failed,
        "mean": {name: float(np.mean(each)) for name, each in found.items()},
        "width": {name: float(np.std(each, ddof=1)) for name, each in found.items()},
        "error_percent": {name: float(np.median(each)) for name, each in errors.items()},
    }


def by_ratio(spectra: tdpac.Spectra, classes: Any, config: tdpac.TdpacConfig) -> tdpac.Fitted:
    return tdpac.fit_ratio(tdpac.ratio_of(spectra, classes), config)


def half_lives(toys: int) -> dict[str, Any]:
    """Returns the mean deviation from the truth in percent, and the error of one fit, at 10^7 coincidences."""
    found = {}
    for places, detectors in (("axes", 6), ("plane", 4)):
        for omega0 in (0.0, 0.1, 0.8):
            text = f'places = "{places}"\nresolution = 300\n[[site]]\nomega0 = {omega0}\neta = 0.3\ndelta = 0.02\n'
            config = tdpac.parse_config(text if omega0 else f'places = "{places}"\nresolution = 300\n')
            classes = tdpac.pair_classes(config.directions(detectors), config.sites)
            fits = [tdpac.fit_half_life(toy(config, 1e7, seed), classes, config).fitted for seed in range(toys)]
            values = np.array([each.values["half_life"] for each in fits])
            error = float(np.median([each.errors["half_life"] for each in fits]))
            found[f"{detectors} detectors, omega0 {omega0:g}"] = {
                "off_percent": float(100 * (values.mean() / 10.8 - 1)),
                "error_percent": 100 * error / 10.8,
                "pull_of_mean": float((values.mean() - 10.8) / error * math.sqrt(toys)),
            }
    return found


def clocks(toys: int) -> dict[str, Any]:
    config, _ = HAFNIUM
    late = (0.0, 110.0, -230.0, 350.0, -70.0, 190.0)
    classes = tdpac.pair_classes(config.directions(6), config.sites)
    off, widths = [], []
    for seed in range(toys):
        fitted = tdpac.fit_time_zero(toy(config, 1e7, seed, late, 50.0), classes, config)
        names = ["time_zero", *(f"delay_{number}" for number in range(1, 6))]
        off.append([fitted.values[name] - truth for name, truth in zip(names, (50.0, *late[1:]), strict=True)])
        widths.append(fitted.values["resolution"])
    return {
        "worst_off_ps": float(np.abs(off).max()),
        "rms_off_ps": float(np.sqrt(np.mean(np.square(off)))),
        "resolution_ps": [float(np.mean(widths)), float(np.std(widths))],
    }


def cpu_s() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def whole_run(hits: int) -> dict[str, Any]:
    """Records and analyses a run of so many hits. Returns CPU seconds and what came out."""
    thalweg = str(Path(sys.executable).with_name("thalweg"))
    with tempfile.TemporaryDirectory(dir=Path("build")) as folder:
        physics, config, run = (Path(folder) / name for name in ("physics.toml", "tdpac.toml", "run.h5"))
        physics.write_text(PHYSICS)
        config.write_text(CONFIG)
        record = [thalweg, "record", "--physics", str(physics), "--waveforms", "none"]
        begin = cpu_s()
        subprocess.run([*record, "--records", str(hits // 6), "--out", str(run), "--quiet"], check=True)
        recorded = cpu_s()
        words = [thalweg, "tdpac", str(run), "--config", str(config), "--json"]
        answer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        ended = cpu_s()
        size = run.stat().st_size
        begin_count = time.process_time()
        tdpac.count(str(run), tdpac.parse_config(CONFIG), (0.0,) * 6)
        counted = time.process_time() - begin_count
    return {
        "hits": hits,
        "bytes": size,
        "record_cpu_s": recorded - begin,
        "tdpac_cpu_s": ended - recorded,
        "count_cpu_s": counted,
        "true_coincidences": answer["true_coincidences"],
        "fit": answer["fit"],
        "half_life": answer["half_life"],
        "time_zero": answer["time_zero"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toys", type=int, default=100)
    parser.add_argument("--hits", type=int, default=20_000_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "results.json")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    few = max(2, options.toys // 10)
    for name, measure in {
        "run": lambda: whole_run(options.hits),
        "181Hf, R(t), 1e6": lambda: pulls(HAFNIUM, 1e6, options.toys, by_ratio),
        "181Hf, R(t), 1e7": lambda: pulls(HAFNIUM, 1e7, options.toys, by_ratio),
        "111In, R(t), 1e6": lambda: pulls(INDIUM, 1e6, options.toys, by_ratio),
        "111In, R(t), 1e7": lambda: pulls(INDIUM, 1e7, options.toys, by_ratio),
        "181Hf, spectra, 1e5": lambda: pulls(HAFNIUM, 1e5, options.toys, tdpac.fit_spectra),
        "half-lives, 1e7": lambda: half_lives(few),
        "clocks, 1e7": lambda: clocks(few),
    }.items():
        begin = time.process_time()
        results[name] = measure()
        print(f"{name}: {time.process_time() - begin:.1f} CPU s, {json.dumps(results[name])}", flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
