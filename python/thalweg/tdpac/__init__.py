"""Time-differential perturbed angular correlations: coincidence spectra of any run, R(t), and fits of hyperfine fields.

    from thalweg import tdpac
    config = tdpac.load_config("tdpac.toml")
    analysis = tdpac.analyse("run.h5", config)
    tdpac.save(analysis, "spectra.h5")

docs/tdpac.md explains the words and the formulas. It needs the packages of the extra `tdpac`.
"""

from thalweg.tdpac import needs  # the first: it names the extra if a package is missing

# isort: split

from thalweg.tdpac.analysis import Analysis, analyse, analyse_spectra
from thalweg.tdpac.classes import PairClass, pair_classes
from thalweg.tdpac.config import TdpacConfig, load_config, parse_config
from thalweg.tdpac.counting import SpectraCounter, count, hit_columns
from thalweg.tdpac.figure import draw
from thalweg.tdpac.fitted import Fitted
from thalweg.tdpac.half_life import HalfLife, fit_half_life
from thalweg.tdpac.likelihood import fit_spectra, fit_time_zero
from thalweg.tdpac.ratio import Ratio, fit_ratio, ratio_of
from thalweg.tdpac.results import save, write_columns
from thalweg.tdpac.spectra import Spectra
from thalweg.tdpac.spectrum import frequency_spectrum

__all__ = [
    "Analysis",
    "Fitted",
    "HalfLife",
    "PairClass",
    "Ratio",
    "Spectra",
    "SpectraCounter",
    "TdpacConfig",
    "analyse",
    "analyse_spectra",
    "count",
    "draw",
    "fit_half_life",
    "fit_ratio",
    "fit_spectra",
    "fit_time_zero",
    "frequency_spectrum",
    "hit_columns",
    "load_config",
    "needs",
    "pair_classes",
    "parse_config",
    "ratio_of",
    "save",
    "write_columns",
]
