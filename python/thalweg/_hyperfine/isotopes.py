"""The isotopes whose cascades are known: their energies, and half-life and spin of the state between two gammas."""

from dataclasses import dataclass

SPIN = 2.5
"""The spin of the state between the two gammas, for all isotopes here."""


@dataclass(frozen=True)
class Cascade:
    start_kev: float
    stop_kev: float
    half_life_ns: float
    a22: float
    a44: float
    bin_ns: float
    """A usual width of the bins of its spectra."""


CASCADES = {
    "181Hf": Cascade(133, 482, 10.8, -0.288, -0.076, 0.1),
    "111In": Cascade(171, 245, 84.5, -0.180, -0.002, 0.5),
}


def peak_width_kev(energy_kev: float, resolution: float = 0.033) -> float:
    """Returns the FWHM of a peak. `resolution`: FWHM / E at 662 keV."""
    return float(resolution * (662 * energy_kev) ** 0.5)


def peak_window_kev(energy_kev: float) -> tuple[float, float]:
    """Returns the window of a peak: its FWHM to both sides."""
    width = peak_width_kev(energy_kev)
    return energy_kev - width, energy_kev + width
