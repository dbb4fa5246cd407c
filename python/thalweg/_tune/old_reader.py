"""Whether HDF5 1.10 opens the outputs: many programs have it, and a setting may change the format of a file."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

from thalweg._tune.outputs import Outputs
from thalweg._tune.same import is_hdf5

_OLD = "1.10."


def opened_by_old_hdf5(outputs: Outputs) -> list[str]:
    """Returns, for each HDF5 file, whether `h5dump` of HDF5 1.10 reads its structure: all but the values."""
    found = []
    for name in outputs.files:
        path = outputs.folder / name
        if not path.is_file() or not is_hdf5(path):
            continue
        if not (version := _version()).startswith(_OLD):
            has = f"the h5dump that is installed is of HDF5 {version}" if version else "h5dump is not installed"
            found.append(f"whether HDF5 1.10 opens {name} is not known ({has})")
            continue
        done = subprocess.run(["h5dump", "-H", path], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode < 0:
            found.append(f"whether HDF5 1.10 opens {name} is not known (signal {-done.returncode} ended h5dump)")
        elif done.returncode == 0:
            found.append(f"HDF5 {version} opens {name}")
        else:
            said = done.stderr.strip().splitlines()
            found.append(f"HDF5 {version} does not open {name}: {said[-1] if said else done.returncode}")
    return found


@functools.cache
def _version() -> str:
    """Returns the version of the `h5dump` that is installed; empty: none is."""
    if shutil.which("h5dump") is None:
        return ""
    said = subprocess.run(["h5dump", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Version (\S+)", said)
    return found[1] if found else ""
