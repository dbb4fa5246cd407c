"""Names programs that run and would undo what is applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._readout.network.machine import Machine

_IRQBALANCE, _TUNED = "irqbalance", "tuned"
_PROFILE = Path("etc/tuned/active_profile")


def warnings_of(machine: Machine) -> Iterator[str]:
    """Yields a sentence for each such program. Raises SystemError if the processes cannot be listed."""
    running = machine.programs((_IRQBALANCE, _TUNED))
    if number := running.get(_IRQBALANCE):
        yield (
            f"irqbalance runs (process {number}) and places interrupts anew every few seconds: stop it (systemctl "
            "disable --now irqbalance), or ban these interrupts by its option --banirq"
        )
    if number := running.get(_TUNED):
        yield (
            f"TuneD runs (process {number}, {_profile(machine.root)}) and sets its own values again when it starts or "
            "its profile changes: give it this plan as a profile (--format tuned --out FOLDER), or stop it"
        )


def _profile(root: Path) -> str:
    try:
        name = (root / _PROFILE).read_text().strip()
    except FileNotFoundError:
        return "without a profile"
    except OSError as error:
        text = f"cannot read /{_PROFILE} ({error.strerror}): it names the profile of TuneD, which runs"
        raise SystemError(error.errno or 0, text) from None
    return f"profile {name}" if name else "without a profile"
