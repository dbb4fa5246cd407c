"""Writes an analysis: as HDF5 with NXdata, as columns of text, and as a picture."""

from __future__ import annotations

import json
import os
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg.tdpac.analysis import Analysis
from thalweg.tdpac.fitted import Fitted
from thalweg.tdpac.model import FieldModel
from thalweg.tdpac.ratio import Ratio, ratio_model
from thalweg.tdpac.spectrum import frequency_spectrum

Numbers = npt.NDArray[np.float64]


def fitted_ratio(analysis: Analysis, shown: Ratio | None = None) -> tuple[slice, Numbers] | None:
    """Returns the bins of R(t) that are fitted and the model there, or None if there is no fit that has converged.

    shown: R(t) in other bins.
    """
    ratio, config = shown or analysis.ratio, analysis.config
    if ratio is None or analysis.fit is None or not analysis.fit.is_valid:
        return None
    bins = ratio.fitted_bins(config.fit_begin_ns, config.fit_end_ns)
    if bins.stop <= bins.start:
        return None
    model = FieldModel(config, ratio.classes)
    values = {**analysis.fit.values, "resolution": analysis.clock["resolution"]}
    return bins, ratio_model(model, values, ratio.edges_ns[bins.start : bins.stop + 1])


def save(analysis: Analysis, path: str | Path) -> None:
    """Writes the spectra as a histogram of uhi, and R(t), its fit and its frequencies as NXdata. Raises SystemError if
    the file cannot be written."""
    beside = Path(f"{path}.part")
    try:
        with h5py.File(beside, "w") as file:
            analysis.spectra.save(file)
            _entry(analysis, file)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SystemError(error.errno or 0, f"cannot write {path} ({error.strerror or error})") from None


def _entry(analysis: Analysis, file: h5py.File) -> None:
    file.attrs["default"] = "tdpac"
    entry = file.create_group("tdpac")
    entry.attrs.update({"NX_class": "NXentry", "configuration": analysis.config.text})
    entry.attrs["result"] = json.dumps(analysis.as_json())
    for name, fitted in (("time_zero", analysis.time_zero), ("fit", analysis.fit)):
        if fitted:
            _fit(entry.create_group(name), fitted)
    if analysis.half_life:
        _fit(entry.create_group("half_life"), analysis.half_life.fitted)
    ratio = analysis.ratio
    if ratio is None:
        return
    entry.attrs["default"] = "ratio"
    usable = ratio.usable & (ratio.times_ns > 0)
    columns = {"time": ratio.times_ns[usable], "ratio": ratio.values[usable], "ratio_errors": ratio.errors[usable]}
    model = fitted_ratio(analysis)
    if model:
        of_fit = np.full(len(ratio.values), np.nan)
        of_fit[model[0]] = model[1]
        columns["fit"] = of_fit[usable]
    _data(entry, "ratio", columns, "time", "R(t)")
    omegas, amplitudes = frequency_spectrum(ratio, analysis.config.fit_begin_ns, analysis.config.fit_end_ns)
    _data(entry, "frequencies", {"omega": omegas, "amplitude": amplitudes}, "omega", "cosine transform of R(t)")


_UNITS = {"time": "ns", "omega": "rad/ns"}


def _data(entry: h5py.Group, signal: str, columns: dict[str, Numbers], axis: str, title: str) -> None:
    group = entry.create_group(signal)
    names = [name for name in columns if name != axis]
    group.attrs.update({"NX_class": "NXdata", "signal": names[0], "axes": axis, "title": title})
    if "fit" in columns:
        group.attrs["auxiliary_signals"] = ["fit"]
    for name, values in columns.items():
        group[name] = values
        if name in _UNITS:
            group[name].attrs["units"] = _UNITS[name]


def _fit(group: h5py.Group, fitted: Fitted) -> None:
    group.attrs.update({"NX_class": "NXcollection", "method": fitted.method, "converged": fitted.is_valid})
    group.attrs.update({"chi2": fitted.chi2, "ndf": fitted.ndf})
    for name in fitted.free:
        group[name] = fitted.values[name]
        group[name].attrs.update({"error": fitted.errors[name], "at_limit": name in fitted.at_limit})
    group["covariance"] = fitted.covariance
    group["covariance"].attrs["parameters"] = list(fitted.free)


def write_columns(analysis: Analysis, path: str | Path) -> None:
    """Writes a text for fit programs: time, R(t), its error and the fit, and the spectrum of each class and pair."""
    spectra, ratio = analysis.spectra, analysis.ratio
    edges = spectra.edges_ns - analysis.clock["time_zero"] * 1e-3
    columns: dict[str, Numbers] = {"time_ns": (edges[1:] + edges[:-1]) / 2}
    if ratio is not None:
        columns["R"] = np.where(ratio.usable, ratio.values, np.nan)
        columns["R_error"] = np.where(ratio.usable, ratio.errors, np.nan)
        if model := fitted_ratio(analysis):
            columns["R_fit"] = np.full(len(ratio.values), np.nan)
            columns["R_fit"][model[0]] = model[1]
    for each in analysis.classes:
        for start, stop in each.pairs:
            name = f"{spectra.tables[start]}-{spectra.tables[stop]}_{each.angle_deg:.4g}"
            columns[name] = spectra.counts[start, stop].astype(np.float64)
    try:
        header = ",".join(columns)
        np.savetxt(path, np.array(list(columns.values())).T, "%.9g", ",", header=header, comments="")
    except OSError as error:
        raise SystemError(error.errno or 0, f"cannot write {path} ({error.strerror})") from None
