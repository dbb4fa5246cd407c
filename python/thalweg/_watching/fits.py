"""The process that fits the spectra of a page: it reads them, pickled, from its standard input, and answers with JSON.

It ends with its input, also if the page's process is killed.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from thalweg._base.errors import Error
from thalweg.tdpac import Analysis, Spectra, TdpacConfig, analyse_spectra, frequency_spectrum, parse_config
from thalweg.tdpac.figure import merged
from thalweg.tdpac.fitted import Fitted
from thalweg.tdpac.results import fitted_ratio
from thalweg.tdpac.shown_ratio import ratio_to_show

_POINTS = 400


def analysed(spectra: Spectra, config: TdpacConfig) -> dict[str, Any]:
    """Returns an analysis as the page shows it: R(t), its fit and residuals, frequencies, and the values in words."""
    try:
        analysis = analyse_spectra(spectra, config)
    except Error as error:
        return {"notes": [str(error)]}
    delays = _delays(analysis)
    return {
        "true_coincidences": round(analysis.true_coincidences),
        "classes": [str(each) for each in analysis.classes],
        "fits": [*_fits(analysis)],
        "notes": analysis.notes,
        "delays": delays,
        **_ratio(analysis),
    }


def _fits(analysis: Analysis) -> Iterator[dict[str, Any]]:
    delays = analysis.spectra.delays_ps
    subtracted = {f"delay_{number}": each - delays[0] for number, each in enumerate(delays)}
    of_half_life = analysis.half_life.fitted if analysis.half_life else None
    for name, fitted in (("field", analysis.fit), ("half-life", of_half_life), ("time zero", analysis.time_zero)):
        if fitted is not None:
            values = {
                each: [fitted.values[each] + subtracted.get(each, 0.0), _error(fitted, each)]
                for each in fitted.free
                if _is_shown(each, name)
            }
            yield {
                "name": name,
                "converged": fitted.is_valid,
                "reduced_chi2": fitted.reduced if fitted.is_valid and np.isfinite(fitted.reduced) else None,
                "values": values if fitted.is_valid else {},
            }


def _error(fitted: Fitted, name: str) -> float | None:
    """Returns None if the value is a limit of what is possible: then nothing is known of its error."""
    return None if name in fitted.at_limit else fitted.errors[name]


def _is_shown(parameter: str, fit: str) -> bool:
    """Leaves out what is there to make a fit right, and is found by another one."""
    if fit == "time zero":
        return parameter.startswith(("time_zero", "resolution", "delay"))
    return parameter not in ("log_area", "background")


def _delays(analysis: Analysis) -> list[list[float]] | None:
    fitted = analysis.time_zero
    if fitted is None or not fitted.is_valid:
        return None
    names = [f"delay_{number}" for number in range(len(analysis.spectra.tables))]
    return [[fitted.values[name], fitted.errors[name]] for name in names]


def _ratio(analysis: Analysis) -> dict[str, Any]:
    ratio = ratio_to_show(analysis)
    if ratio is None:
        return {}
    shown = ratio.fitted_bins(0.0, None)
    step = max(1, (shown.stop - shown.start) // _POINTS)
    values, errors, times = merged(ratio.values[shown], ratio.errors[shown], ratio.times_ns[shown], step)
    found: dict[str, Any] = {"ratio": _rounded(times, values, errors), "ratio_bin_ns": round(step * ratio.bin_ns, 3)}
    if (model := fitted_ratio(analysis, ratio)) is not None:
        bins, expected = model
        ones = np.ones(len(expected))
        off = (ratio.values[bins] - expected) / ratio.errors[bins]
        pulls, _, at = merged(off, ones, ratio.times_ns[bins], step)
        curve, _, _ = merged(expected, ones, ratio.times_ns[bins], step)
        found["model"] = _rounded(at, curve, pulls * np.sqrt(step if len(at) < len(off) else 1))
    omegas, amplitudes = frequency_spectrum(ratio, analysis.config.fit_begin_ns, analysis.config.fit_end_ns)
    if len(omegas) and amplitudes.max() > 0:
        last = int(np.flatnonzero(amplitudes > 0.2 * amplitudes.max())[-1]) * 2 + 2
        every = max(1, min(last, len(omegas)) // _POINTS)
        found["frequencies"] = _rounded(omegas[:last:every], amplitudes[:last:every])
    return found


def _rounded(*columns: Any) -> list[list[float | None]]:
    return [[float(f"{each:.5g}") if np.isfinite(each) else None for each in column] for column in columns]


def main(given: IO[bytes], answers: IO[bytes]) -> None:
    config = parse_config(pickle.load(given))
    while True:
        try:
            spectra = pickle.load(given)
        except EOFError:
            return
        answers.write(json.dumps(analysed(spectra, config)).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the page's process ends this one
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        main(sys.stdin.buffer, answers)
