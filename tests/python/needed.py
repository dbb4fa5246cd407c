"""What tests need of the machine."""

import os
import shutil

import pytest


def program(*names: str, why: str = "") -> str:
    """Returns the path of the first of these programs that is there. Without one the test is left out, but fails in
    continuous integration."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        problem = f"there is none of {', '.join(names)}{why}"
        if os.environ.get("THALWEG_CI"):
            pytest.fail(problem)
        pytest.skip(problem)
    return found
