"""Defines the verdict on one setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judged:
    """One setting and what became of it: a hint or property of a file, or a variable of the environment."""

    kind: str
    """One of: hint, hint of a file (ROMIO_HINTS), property, variable."""
    file: str
    name: str
    asked: str
    reported: str | None
    state: str
    """One of: in effect, overruled, inert, cannot be told."""
    why: str
