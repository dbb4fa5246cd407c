"""What JSROOT reads of an RNTuple, under Node (tests/jsroot/dump.mjs)."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent.parent


def tables_of(path: Path | str) -> dict[str, dict[str, Any]]:
    """By table: "rows", and "fields" by name, each a list of rows; or "error"."""
    if not (REPOSITORY / "build/jsroot/installed").exists():
        pytest.skip("JSROOT is not installed; `make test` does it")
    script = REPOSITORY / "tests/jsroot/dump.mjs"
    done = subprocess.run(["node", script, path], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    tables: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return tables


def is_same(found: Any, expected: Any) -> bool:
    """Compares values of JSON: integers and floats are numbers, NaN is itself, tuples are structs of _0, _1, ..."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(is_same(found[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_same, found, expected))
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    return bool(found == expected)
