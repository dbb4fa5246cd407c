"""Reads TOML that a user has written."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion


def read_text(path: str | os.PathLike[str]) -> str:
    """Returns the text of a file. Raises UsageError if it cannot be read."""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML ({error})") from None


def parse_tables(text: str, where: str) -> dict[str, Any]:
    """Returns what a text says. Raises UsageError if it is not TOML; `where` is its name."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = ': texts need quotes, such as rate = "1MHz"' if "end of document" in str(error) else ""
        raise UsageError(f"{where} is not TOML ({error}){hint}") from None


def read_tables(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what a file says. Raises UsageError if it cannot be read, or is not TOML."""
    return parse_tables(read_text(path), str(path))


def check_names(given: Iterable[str], known: Sequence[str], where: str, what: str = "") -> None:
    """Raises UsageError if a name is not known; `what` says what these name."""
    for name in given:
        if name not in known:
            raise UsageError(f"{where}: there is no {what}'{name}'{suggestion(name, known)}")
