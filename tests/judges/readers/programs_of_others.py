"""Asks readers that are not ours for the values of a file: for each dataset the digest of its bytes, or an error.

`python programs_of_others.py netCDF4` (or xarray) reads names of files, and answers each with a line of JSON.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

REPOSITORY = Path(__file__).parents[3]
HERE = Path(__file__).parent
JHDF, NODE = REPOSITORY / "build/jhdf/lib", REPOSITORY / "build/h5wasm/node_modules"
EMPTY = hashlib.sha1().hexdigest()
Digests = dict[str, str]


def digest(values: Any) -> str:
    return hashlib.sha1(np.ascontiguousarray(values).tobytes()).hexdigest()


def expected(path: Any) -> Digests:
    """Returns what h5py reads of the datasets of numbers, of a file that is given by its path or as a file object."""
    found: Digests = {}

    def visit(name: str, child: Any) -> None:
        if isinstance(child, h5py.Dataset) and child.dtype.kind in "iufcb":
            found[f"/{name}"] = digest(child[()])

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


class Served:
    """Keeps a program that answers names of files with lines of JSON."""

    def __init__(self, command: list[Any]) -> None:
        # libhdf5 finds filters by this variable, and each of these readers has a libhdf5 of its own.
        environment = {**os.environ, "HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def __call__(self, path: Path | str) -> Digests:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        found: Digests = json.loads(line) if line else {"": "error: the reader has ended"}
        return found

    def end(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def with_h5dump(path: Path) -> Digests:
    """Lets h5dump write each dataset as bytes."""
    found: Digests = {}
    environment = {**os.environ, "HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
    with tempfile.TemporaryDirectory() as folder:
        for name in expected(path):
            out = Path(folder, "bytes")
            out.unlink(missing_ok=True)
            command = ["h5dump", "-d", name, "-b", "FILE", "-o", out, path]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            is_read = done.returncode == 0 and not done.stderr.strip()
            found[name] = digest_of_file(out) if is_read else f"error: {done.stderr[:200]}"
    return found


def digest_of_file(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest() if path.exists() else EMPTY


def with_netcdf4(path: Path) -> Digests:
    import netCDF4

    found: Digests = {}
    with contextlib.closing(netCDF4.Dataset(path)) as file:
        file.set_auto_maskandscale(False)
        for name in expected(path):
            group, *parts = name.split("/")[1:]
            try:
                at = file if not parts else file.groups[group]
                for part in parts[:-1]:
                    at = at.groups[part]
                found[name] = digest(at.variables[parts[-1] if parts else group][...])
            except Exception as error:
                found[name] = f"error: {type(error).__name__}: {error}"
    return found


def with_xarray(path: Path) -> Digests:
    import xarray

    found: Digests = {}
    tree = xarray.open_datatree(path, engine="h5netcdf", decode_cf=False, phony_dims="sort")
    with contextlib.closing(tree):
        for node in tree.subtree:
            for name, variable in node.variables.items():
                if variable.dtype.kind in "iufcb":
                    found[f"{node.path.rstrip('/')}/{name}"] = digest(variable.values)
    return found


def reader_of(name: str) -> tuple[Callable[[Path], Digests] | None, str]:
    """Returns a reader, or why it is left out."""
    if name == "jhdf":
        if not (shutil.which("java") and JHDF.exists()):
            return None, "jhdf is not installed (`make test` does it, as root)"
        quick_to_start = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return Served(["java", "-Xmx300m", *quick_to_start, "-cp", f"{JHDF}/*", HERE / "jhdf/Read.java"]), ""
    if name in ("h5wasm", "jsfive"):
        if not (NODE / name).exists():
            return None, f"{name} is not installed (`make test` does it)"
        return Served(["node", HERE / "node/read.mjs", name]), ""
    if name == "h5dump":
        return with_h5dump, ""
    return Served([sys.executable, __file__, name]), ""


def main() -> None:
    read = {"netCDF4": with_netcdf4, "xarray": with_xarray}[sys.argv[1]]
    for line in sys.stdin:
        try:
            found = read(Path(line.strip()))
        except Exception as error:
            found = {"": f"error: {type(error).__name__}: {error}"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
