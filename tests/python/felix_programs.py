"""The C++ programs of tests/felix, and what they print."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


def program(repository: Path, name: str) -> Callable[..., str]:
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    path = build / "tests" / "felix" / name
    if not path.exists():
        pytest.fail(f"{path} is not there: run `make test` (THALWEG_BUILD names another build directory)")

    def run(*arguments: object) -> str:
        words = [str(path), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout

    return run


def pairs(words: list[str]) -> dict[str, int]:
    return {name: int(value) for name, value in (word.split("=") for word in words)}
