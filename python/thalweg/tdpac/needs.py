"""Says which extra is missing, before a module of another package is imported and fails."""

import importlib.util

from thalweg._base.errors import UsageError

PACKAGES = ("h5py", "hist", "iminuit", "scipy", "uhi")


def check_packages() -> None:
    """Raises UsageError if a package is not installed."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        is_are = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"TDPAC spectra cannot be made ({', '.join(missing)} {is_are} not installed): pip install 'thalweg[tdpac]'"
        )


check_packages()
