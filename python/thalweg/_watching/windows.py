"""Windows of energies that viewers of a page give, and why one is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from thalweg._base.errors import UsageError

if TYPE_CHECKING:
    from thalweg.tdpac import TdpacConfig

Window = tuple[float, float]
KINDS = ("start", "stop")
OF_CONFIGURATION = "configuration"
"""What a viewer gives instead of a window to return to the windows of the configuration."""


@dataclass(frozen=True)
class Windows:
    """Those of starts and stops, in the unit of the configuration."""

    start: Window
    stop: Window

    @property
    def toml(self) -> list[str]:
        """The lines of a configuration that has them."""
        return [toml_of(kind, getattr(self, kind)) for kind in KINDS]

    def __str__(self) -> str:
        return " and ".join(self.toml)


def toml_of(kind: str, window: Window) -> str:
    """Returns the line of a configuration for a window of six digits."""
    return f"{kind} = [{window[0]:.6g}, {window[1]:.6g}]"


def window_of(given: Any, config: TdpacConfig, tables: tuple[str, ...]) -> tuple[str, Window]:
    """Returns "start" or "stop", and the window in the unit of the configuration.

    given: a mapping with `kind` ("start" or "stop"), the `table` of a detector, and `from` and `to` in the unit of its
        energies.

    Raises UsageError if it is no such window.
    """
    try:
        kind, table = given["kind"], given["table"]
        low, high = float(given["from"]), float(given["to"])
    except (ValueError, KeyError, TypeError, OverflowError):
        raise UsageError("this is no window: give kind, table, from and to") from None
    if kind not in KINDS or table not in tables:
        raise UsageError(f"there is no window '{kind}' of '{table}': give start or stop, and the table of a detector")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError(f"the window from {low:g} to {high:g} has an end that is no number: give two energies")
    scale = config.scale[tables.index(table)] if config.scale and not config.peaks else 1.0
    # What is counted is what the line of TOML says.
    rounded = float(f"{low * scale:.6g}"), float(f"{high * scale:.6g}")
    if rounded[0] >= rounded[1]:
        raise UsageError(f"the window from {low:g} to {high:g} is empty or inverted: give the lower energy first")
    return kind, rounded


def windows_with(windows: Windows, kind: str, window: Window) -> Windows:
    """Returns windows of which one is another one. Raises UsageError if they overlap."""
    changed = replace(windows, **{kind: window})
    if changed.start[0] < changed.stop[1] and changed.stop[0] < changed.start[1]:
        other = KINDS[1 - KINDS.index(kind)]
        other_window: Window = getattr(changed, other)
        raise UsageError(
            f"the window of {kind}s from {window[0]:g} to {window[1]:g} overlaps that of {other}s, from "
            f"{other_window[0]:g} to {other_window[1]:g} (a hit would be a start and a stop): apply another one, or "
            f"change that of {other}s first"
        )
    return changed


def check_is_shown(given: Mapping[str, Any], end: float, unit: str) -> None:
    """Raises UsageError if a window is not within the energies of its table that are shown, from 0 to `end`."""
    low, high = float(given["from"]), float(given["to"])
    if low < 0 or high > end:
        raise UsageError(
            f"the window from {low:g} to {high:g} lies outside of the energies of {given['table']} that are shown (0 "
            f"to {f'{end:.4g} {unit}'.rstrip()}): give one within them"
        )
