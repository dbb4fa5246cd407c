"""What is said of one setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judged:
    """One setting: a hint or a property of one file, or a variable of one process."""

    kind: str
    """hint, property or variable"""
    file: str
    name: str
    asked: str
    reported: str | None
    state: str
    """in effect, overruled, inert or cannot be told"""
    why: str
