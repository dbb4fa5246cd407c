"""The perturbation of an angular correlation by static fields: sums of cosines from the eigenstates of a spin.

H / hbar = omega_Q [3 I_z^2 - I(I + 1) + eta (I_x^2 - I_y^2)] - larmor n.I, and G_kk(t) is the sum over q, a, b of
|<a|T^k_q|b>|^2 cos(omega_ab t) / (2k + 1), where T^k_q are tensors of trace 1.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.complex128]
Numbers = npt.NDArray[np.float64]

_EQUAL = 1e-9  # relative to the largest frequency: lines that are closer are one line


@cache
def operators(spin: float) -> tuple[Matrix, Matrix, Matrix]:
    """Returns I_x, I_y and I_z."""
    m = np.arange(spin, -spin - 1, -1)
    raising = np.diag(np.sqrt(spin * (spin + 1) - m[1:] * (m[1:] + 1)), 1).astype(np.complex128)
    lowering = raising.conj().T
    return (raising + lowering) / 2, (raising - lowering) / 2j, np.diag(m).astype(np.complex128)


@cache
def tensors(spin: float, k: int) -> npt.NDArray[Any]:
    """Returns T^k_q for q = k, k - 1, ..., -k: the highest from raising operators, the others by lowering it."""
    x, y, _ = operators(spin)
    raising, lowering = x + 1j * y, x - 1j * y
    highest = np.linalg.matrix_power(raising, k)
    found = [highest / np.linalg.norm(highest)]
    for q in range(k, -k, -1):
        last = found[-1]
        found.append((lowering @ last - last @ lowering) / math.sqrt(k * (k + 1) - q * (q - 1)))
    return np.array(found)


def hamiltonian(spin: float, omega0: float, eta: float, larmor: float, beta: float, gamma: float) -> Matrix:
    """Returns H / hbar. omega0 = 6 omega_Q; the magnetic field has the angles beta and gamma (rad) to the axes of the
    field gradient."""
    x, y, z = operators(spin)
    quadrupole = 3 * z @ z - spin * (spin + 1) * np.eye(len(z)) + eta * (x @ x - y @ y)
    along = math.sin(beta) * (math.cos(gamma) * x + math.sin(gamma) * y) + math.cos(beta) * z
    return np.asarray(omega0 / 6 * quadrupole - larmor * along)


def lines(
    spin: float, omega0: float = 0, eta: float = 0, larmor: float = 0, beta: float = 0, gamma: float = 0
) -> tuple[Numbers, Numbers, Numbers]:
    """Returns the frequencies of a powder, ascending, and their weights in G_22 and in G_44, which sum up to 1."""
    energies, states = np.linalg.eigh(hamiltonian(spin, omega0, eta, larmor, beta, gamma))
    omegas = np.abs(energies[:, np.newaxis] - energies).ravel()
    weights = []
    for k in (2, 4):
        elements = states.conj().T @ tensors(spin, k) @ states
        weights.append((np.abs(elements) ** 2).sum(0).ravel() / (2 * k + 1))
    order = np.argsort(omegas)
    omegas = omegas[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(omegas) > _EQUAL * max(1e-12, omegas[-1])) + 1])
    counts = np.diff(np.concatenate([starts, [len(omegas)]]))
    merged = np.add.reduceat(omegas, starts) / counts
    merged[0] = 0.0  # what does not turn
    weights2, weights4 = (np.add.reduceat(each[order], starts) for each in weights)
    return merged, weights2, weights4
