"""kite_dos.py FOLDER SIZE MOMENTS: moments of the density of states of the honeycomb by KITE 0.0.4, in complex128, on
one thread, with the disorder of ours."""

import os
import sys

import kite
import numpy as np
import pybinding as pb


def main() -> None:
    folder, size, moments = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lattice = pb.Lattice(a1=np.sqrt(3) * np.array([1, 0]), a2=np.sqrt(3) * np.array([0.5, np.sqrt(3) / 2]))
    lattice.add_sublattices(("A", [0, 0], 0), ("B", [0, 1], 0))
    lattice.add_hoppings(([0, 0], "A", "B", -1), ([0, -1], "A", "B", -1), ([1, -1], "A", "B", -1))
    disorder = kite.Disorder(lattice)
    for sublattice in ("A", "B"):
        disorder.add_disorder(sublattice, "Uniform", 0.0, 0.1 / np.sqrt(12))
    configuration = kite.Configuration(
        divisions=[1, 1],
        length=[size, size],
        boundaries=["periodic", "periodic"],
        is_complex=True,
        precision=1,
        spectrum_range=[-3.2, 3.2],
    )
    calculation = kite.Calculation(configuration)
    calculation.dos(num_points=16, num_moments=moments, num_random=1, num_disorder=1)
    path = os.path.join(folder, "kite.h5")
    if os.path.exists(path):
        os.remove(path)
    kite.config_system(lattice, configuration, calculation, disorder=disorder, filename=path)
    kite.execute.kitex(path)


main()
