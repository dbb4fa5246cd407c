"""Files of settings: what a search has found, with its evidence."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._tune.choice import choose
from thalweg._tune.settings import Chosen

_LAYOUT = 1
_KEYS = {"thalweg_tune": int, "settings": dict, "mpi": str, "evidence": dict, "sha256": str}


@dataclass(frozen=True)
class SettingsFile:
    chosen: Sequence[Chosen]
    mpi: str
    """The MPI of the command for which they were found, as it names itself; empty: it has none."""
    evidence: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes the file whole, or not at all."""
        content = {
            "thalweg_tune": _LAYOUT,
            "settings": {each.setting.name: each.given for each in self.chosen},
            "mpi": self.mpi,
            "evidence": self.evidence,
        }
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(content | {"sha256": _sum(content)}, indent=2) + "\n")
            os.replace(beside, path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise SystemError(error.errno, f"{path} cannot be written ({error.strerror})") from None

    def check_mpi(self, mpi: str) -> None:
        """Raises UsageError if the command has another MPI than the one for which the settings were found."""
        if mpi != self.mpi:
            raise UsageError(
                f"the settings are not for this command (they were found with {self.mpi or 'no MPI'}, and it has "
                f"{mpi or 'none'}): search again"
            )


def read_settings(path: Path) -> SettingsFile:
    """Raises UsageError if it is no file of settings, has names that are not known, or was edited."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): give a file that `thalweg tune` wrote") from None
    except ValueError as error:
        raise UsageError(f"{path} is no file of settings ({error}): give a file that `thalweg tune` wrote") from None
    if not isinstance(content, dict) or "thalweg_tune" not in content:
        raise UsageError(f"{path} is no file of settings (it has no 'thalweg_tune'): give one of `thalweg tune`")
    if content["thalweg_tune"] != _LAYOUT:
        raise UsageError(f"{path} is of another version of Thalweg ({content['thalweg_tune']}): apply it with that one")
    for name in content:
        if name not in _KEYS:
            raise UsageError(f"{path} has '{name}', which is not known: remove it, or use a newer Thalweg")
    for name, kind in _KEYS.items():
        if not isinstance(content.get(name), kind):
            raise UsageError(f"{path} has no '{name}', or not of its kind: search again")
    try:
        chosen = choose([f"{name}={value}" for name, value in content["settings"].items()], may_change_file=True)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if content.pop("sha256") != _sum(content):
        raise UsageError(
            f"{path} was edited (its sum is another one), so that its evidence is not of these settings: try them by "
            "--try"
        )
    return SettingsFile(chosen, content["mpi"], content["evidence"])


def _sum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
