"""Converts arrays and frames of other libraries to NumPy arrays, `Ragged`, `Optional` and dictionaries of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._base.packages import needed
from thalweg._values.from_arrow import of_arrow
from thalweg._values.from_awkward import is_awkward, of_awkward
from thalweg._values.ragged import Optional, Ragged, Text, named
from thalweg._values.rows import Rows

_PLAIN = frozenset((int, float, bool, complex, str, bytes, list, tuple, dict, Ragged, Text, Optional, type(None)))


def plain(value: Any) -> Any:
    """Returns the content of an array of another library, without a copy if possible. Other values stay as they are.

    An array with missing values becomes an `Optional`, and a missing value becomes None. Arrow's interface is asked
    first, since `__array__` would turn missing values into NaN.

    Raises UsageError if the library cannot convert its values."""
    if type(value) in _PLAIN or (type(value) is np.ndarray and value.dtype.names is None):
        return value  # most values are of these types
    if isinstance(value, np.ndarray | np.generic):
        return _of_numpy(value)
    if isinstance(value, Rows):
        return value.members  # strings as they were read
    if isinstance(value, str | list | tuple | int | float | complex | Mapping | Ragged):
        return value
    if is_missing(value):
        return None
    try:
        return _of_library(value)
    except (UsageError, MemoryError):
        raise
    except Exception as error:  # each library has errors of its own
        raise UsageError(f"{type(value).__name__} cannot be converted ({error}): give NumPy arrays") from error


def is_missing(value: Any) -> bool:
    """Returns whether one value is None, `np.ma.masked` or `pd.NA`. NaN and NaT are values."""
    return value is None or value is np.ma.masked or type(value).__name__ == "NAType"


def _of_library(value: Any) -> Any:
    if is_awkward(value):
        return of_awkward(value)
    if type(value).__module__.partition(".")[0] == "pandas":
        return _of_pandas(value)
    if type(value).__module__.partition(".")[0] == "pyarrow":
        return of_arrow(value)
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return of_arrow(value)
    if hasattr(value, "__array__"):
        return plain(np.asarray(value))
    return value


def _of_numpy(value: Any) -> Any:
    if value is np.ma.masked:
        return None
    if value.dtype.names is not None:
        return {name: value[name] for name in value.dtype.names}
    if isinstance(value, np.ma.MaskedArray):
        is_there = ~np.ma.getmaskarray(value)
        return value.data if is_there.all() else Optional.from_mask(is_there, value.compressed())
    return value


def _of_pandas(value: Any) -> Any:
    """Returns the content of a pandas object. The columns of a frame are converted later, when errors can name them."""
    if hasattr(value, "columns"):
        return named((name, value.iloc[:, place]) for place, name in enumerate(value.columns))
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return value
    if isinstance(dtype, np.dtype) or type(dtype).__name__ == "SparseDtype":
        return np.asarray(value)  # in NumPy's dtypes, NaN is a value
    with needed(f"{type(value).__name__} cannot be appended"):
        import pyarrow

    return of_arrow(pyarrow.array(value))
