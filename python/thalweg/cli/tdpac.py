"""thalweg tdpac"""

from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.errors import UsageError
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg tdpac run.h5 --config tdpac.toml --out spectra.h5",
    "thalweg tdpac run.h5 --config tdpac.toml --out spectra.h5 --plot ratio.pdf --csv spectra.csv --json",
    "thalweg tdpac run.BIN --config tdpac.toml --features --out spectra.h5",
]


def tdpac(
    file: Annotated[str, typer.Argument(metavar="RUN", help="A complete file, or a run that is still open.")],
    config: Annotated[
        Path, typer.Option(metavar="FILE.toml", help="Isotope, windows, places, field and what is fitted.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="File for the spectra, R(t) and the fits (HDF5).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png|FILE.pdf", help="Picture of R(t) and the fit.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="The same as columns, for fit programs.")] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features",
            show_default=False,
            help="Make times, flags and energies of the samples, as [features] of the configuration says, where they "
            "are not stored. RUN may also be a CoMPASS or lh5 file.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", show_default=False, help="Replace files that exist.")] = False,
    json: JsonOption = False,
) -> int:
    """Make TDPAC spectra from any run, and fit hyperfine fields.

    All pairs of a start and a stop are counted, for each pair of detectors. From the spectra follow time zero and the
    resolution, R(t), the fit of the field that the configuration describes, and the half-life. RUN needs a column of
    times and one of energies in each table, or, with --features, times and samples. If RUN is not complete, it is
    counted as far as it goes, which is said. The exit code is 1 if a fit has not converged, or if the peaks of a
    calibration are not found. It needs the packages of an extra: pip install 'thalweg[tdpac]'.
    """
    from thalweg import tdpac as analyses
    from thalweg.tdpac import figure, results

    if plot is not None and plot.suffix.lower() not in figure.FORMATS:
        raise UsageError(f"cannot draw {plot} (pictures are PNG or PDF files): give a name that ends in .png or .pdf")
    for target in (out, plot, csv):
        if target is not None and target.exists() and not force:
            raise UsageError(f"{target} cannot be written (it exists): give --force to replace it")
    analysis = analyses.analyse(file, analyses.load_config(config), features)
    if out is not None:
        results.save(analysis, out)
    if csv is not None:
        results.write_columns(analysis, csv)
    if plot is not None:
        figure.draw(analysis, plot)
    if json:
        print_json(analysis.as_json())
    else:
        answer(*analysis.sentences())
    for problem in analysis.problems:
        say(f"thalweg: {file}: {problem}")
    return 0 if analysis.converged and not analysis.problems else 1


def register(app: typer.Typer) -> None:
    app.command("tdpac", epilog=as_epilog(EXAMPLES))(tdpac)
