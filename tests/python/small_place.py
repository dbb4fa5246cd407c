"""A folder that is a small file system in memory, for one command."""

import os
import subprocess
from pathlib import Path

import pytest


def in_small_place(place: Path, size: str, *command: object) -> subprocess.CompletedProcess[str]:
    """Runs the command where `place` is a file system of this size in memory."""
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    mount = f"mount -t tmpfs -o size={size} none {place}"
    if subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount here")
    whole = [*unshare, "sh", "-c", f'{mount} && exec "$0" "$@"', *map(str, command)]
    return subprocess.run(whole, capture_output=True, text=True, timeout=300, check=False)
