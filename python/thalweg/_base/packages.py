"""Names the extra of a package that is not installed: not every user has those of all libraries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from thalweg._base.errors import UsageError

_EXTRAS = {
    "aiohttp": "serve",
    "awkward": "arrow",
    "caproto": "epics",
    "fsspec": "remote",
    "h5py": "h5py",
    "mpi4py": "mpi",
    "paho": "mqtt",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "arrow",
    "pyfuse3": "mount",
    "pyroute2": "network",
    "pyvisa": "visa",
    "starlette": "watch",
    "trio": "mount",
    "uproot": "uproot",
    "uvicorn": "watch",
    "websockets": "watch",
    "xarray": "xarray",
}
"""The extra of this package that installs a package, by the name with which Python imports it."""


@contextlib.contextmanager
def needed(problem: str, extra: str = "") -> Iterator[None]:
    """Raises UsageError, which names the package and the extra, if an import in the block finds no package.

    problem: what cannot be done without it, for example "rows cannot become a DataFrame".
    extra: the extra that installs it, if it is not that of the package alone.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        raise UsageError(
            f"{problem} ({missing} is not installed): pip install 'thalweg[{extra or _EXTRAS[missing]}]'"
        ) from None
