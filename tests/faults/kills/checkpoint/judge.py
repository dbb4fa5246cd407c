"""Looks at what killed jobs have left. h5py reads all of it; `restore` has to say the same, and nothing else."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 (h5py reads through its filters)
import numpy as np

from kills.checkpoint.plan import Plan
from kills.judge import require
from thalweg.checkpoint import restore


def step_of(path: Path, plan: Plan) -> int:
    with h5py.File(path) as file:
        psi = file["psi"][:]
        step = int(file.attrs["step"])
        require(psi.shape == (plan.rows, plan.columns), f"{path.name} has the shape {psi.shape}")
        require(
            bool(np.all(psi == step)), f"{path.name} mixes steps: {np.unique(psi)[:5]}, and its attribute is {step}"
        )
        require(int(file["step"][0]) == step, f"{path.name} has arrays of two steps")
    return step


def judge(plan: Plan, path: Path, *, saved: list[int], begun: int, copies: dict[str, int], keep: int) -> list[int]:
    """saved: the steps that may be there: those that were found before, and those from which any rank has returned
    since then. begun: the last step that any rank has begun. Returns the steps that are there, the newest first."""
    for name, step in copies.items():
        require(step_of(path.with_name(name), plan) == step, f"the user's copy {name} is no longer of step {step}")
    if not path.exists():
        require(not saved, f"step {max(saved, default=0)} was saved, and {path.name} is not there")
        return []
    step, newest = step_of(path, plan), max(saved, default=0)
    require(newest <= step <= begun, f"{path.name} is of step {step}; saved: {saved[-5:]}, begun: {begun}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = restore(path)
    require(state.path == str(path), f"{state.path} is restored")
    require(bool(np.all(state.read("psi") == step)), "restore reads another step than h5py")
    steps = _older_steps(plan, path, copies)
    require(steps == sorted(steps, reverse=True), f"older checkpoints are not in their order: {steps}")
    require(all(each <= step for each in steps), f"{steps} are called older than {step}")
    # One file has two names if a save was killed while it handed it on: it is the one before then.
    before = step if steps[:1] == [step] else max((each for each in saved if each < step), default=0)
    if keep >= 2 and before:
        require(bool(steps) and steps[0] >= before, f"step {before} was saved before {step}, and {steps} are left")
    return [step, *steps]


def _older_steps(plan: Plan, path: Path, copies: dict[str, int]) -> list[int]:
    names = [each.name for each in path.parent.iterdir() if each.name.startswith(f"{path.name}.")]
    numbers = sorted(int(name.rsplit(".", 1)[1]) for name in names if name not in copies)
    return [step_of(path.with_name(f"{path.name}.{number}"), plan) for number in numbers]


def leftovers(path: Path) -> list[str]:
    """Returns names of files that a killed save has left."""
    return [name for name in os.listdir(path.parent) if name.endswith(".saving")]
