"""Prints the settings of a source, one a line. It is run as a process, since what a class imports may crash."""

from __future__ import annotations

import subprocess
import sys

from thalweg._devices.description import load_class, settings_of

_MOST_S = 10.0


def known_settings(source: str) -> list[str]:
    """Returns the names of the settings of a class or a library; none if they cannot be told."""
    command = [sys.executable, "-m", "thalweg._devices.known_settings", source]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_MOST_S)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split() if done.returncode == 0 else []


if __name__ == "__main__":
    sys.stdout.write("\n".join(settings_of(load_class(sys.argv[1]))))
