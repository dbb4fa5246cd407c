"""plot.py PROGRAM FOLDER: Hofstadter's butterfly, Landau levels and plateaus, by the quantum-hall at PROGRAM.

Needs matplotlib and h5py, which nothing else of this application does.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


class Plots:
    def __init__(self, program: Path, folder: Path, quick: bool) -> None:
        self.program, self.folder, self.quick = program, folder, quick
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, *words: object) -> dict[str, Any]:
        line = [str(self.program), *map(str, words)]
        printed: dict[str, Any] = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        return printed

    def save(self, figure: Any, name: str) -> None:
        figure.savefig(self.folder / f"{name}.png", dpi=140, bbox_inches="tight")
        plt.close(figure)

    def butterfly(self) -> None:
        """The density of states of the square lattice by flux (Hofstadter 1976)."""
        rows = 60 if self.quick else 180
        energies = np.linspace(-4.05, 4.05, 601)
        texts = ",".join(f"{energy:.6f}" for energy in energies)
        picture = []
        for quanta in range(rows // 2 + 1):
            words = ("--lattice", "square", "--size", f"{rows + 1}x{rows}", "--flux", f"{quanta}/{rows}")
            picture.append(self.run("dos", *words, "--trace", "cell", "--moments", 768, "--energies", texts)["dos"])
        whole = np.array(picture + picture[-2::-1])  # the spectrum at flux 1 - f is that at f
        figure, axes = plt.subplots(figsize=(6, 5))
        image = axes.imshow(
            whole, origin="lower", aspect="auto", extent=(energies[0], energies[-1], 0, 1), vmax=1.2, cmap="magma"
        )
        axes.set(
            xlabel="energy / hopping", ylabel="flux quanta a cell", title="Square lattice, 768 moments, no disorder"
        )
        figure.colorbar(image, label="states a site and hopping")
        self.save(figure, "butterfly")

    def landau_levels(self) -> None:
        """Peaks of the density of states, and where levels of the lattice and of massless particles are."""
        period, size = 48, 96 if self.quick else 192
        vectors = 4 if self.quick else 8
        energies = np.linspace(-1.15, 1.15, 1400)
        found = self.run(
            *("dos", "--size", f"{size}x{size}", "--flux", f"1/{period}", "--disorder", 0.1, "--moments", 2048),
            *("--random-states", vectors, "--energies", ",".join(f"{energy:.6f}" for energy in energies)),
        )
        bands = self.run("exact", "--bloch", "--size", f"3x{period}", "--flux", f"1/{period}")["energies_at_zero"]
        exact = [0.0, *np.array(bands[period + 1 :][:10]).reshape(5, 2).mean(axis=1)]
        dos, error = np.array(found["dos"]), np.array(found["error"])
        figure, axes = plt.subplots(figsize=(7, 4))
        axes.fill_between(energies, dos - error, dos + error, color="tab:blue", alpha=0.4, lw=0)
        axes.plot(energies, dos, color="tab:blue", lw=1, label=f"{vectors} random vectors, with standard error")
        for sign in (-1, 1):
            for n, level in enumerate(exact):
                labels = ("lattice, exact", r"$\sqrt{2\sqrt{3}\pi\phi n}$") if sign == 1 and n == 1 else (None, None)
                axes.axvline(sign * level, color="0.4", lw=0.7, ls="--", label=labels[0])
                law = np.sqrt(2 * np.sqrt(3) * np.pi / period * n)
                if law < 1.15:
                    axes.axvline(sign * law, color="tab:red", lw=0.7, ls=":", label=labels[1])
        axes.set(xlabel="energy / hopping", ylabel="states a site and hopping, each spin", ylim=(0, 1.25 * dos.max()))
        axes.set_title(f"Honeycomb {size} x {size}, flux 1/{period}, W = 0.1, 2048 moments")
        axes.legend(fontsize=8, ncols=3, loc="upper center")
        self.save(figure, "landau_levels")

    def plateaus(self) -> None:
        """sigma_xy of both spins, of a disordered sample."""
        vectors, moments, size = (4, 256, 48) if self.quick else (8, 1024, 96)
        path = self.folder / "hall.h5"
        self.run(
            *("hall", "--size", f"{size}x{size}", "--flux", "1/48", "--disorder", 0.1, "--moments", moments),
            *("--random-states", vectors, "--out", path),
        )
        with h5py.File(path) as file:
            energy, sigma, error = (2 * file[f"hall/{name}"][:] for name in ("energy", "sigma_xy", "error"))
        energy /= 2
        figure, axes = plt.subplots(figsize=(7, 4))
        near = np.abs(energy) < 0.95
        axes.fill_between(energy[near], (sigma - error)[near], (sigma + error)[near], color="tab:blue", alpha=0.3, lw=0)
        axes.plot(energy[near], sigma[near], color="tab:blue", lw=1, label="Kubo-Bastin, with standard error")
        for plateau in range(-14, 15, 4):
            axes.axhline(plateau, color="0.6", lw=0.6, ls="--")
        axes.set(xlabel="Fermi energy / hopping", ylabel=r"$\sigma_{xy}$ / ($e^2/h$), both spins", ylim=(-15, 15))
        axes.set_yticks(range(-14, 15, 4))
        axes.set_title(f"Honeycomb {size} x {size}, flux 1/48, W = 0.1, {moments} moments, {vectors} random vectors")
        axes.legend(fontsize=8)
        self.save(figure, "plateaus")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="smaller samples, in half a minute")
    arguments = parser.parse_args()
    plots = Plots(arguments.program, arguments.folder, arguments.quick)
    plots.butterfly()
    plots.landau_levels()
    plots.plateaus()


if __name__ == "__main__":
    main()
