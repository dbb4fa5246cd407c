"""Identifies the machine on which a process runs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path


def machine() -> str:
    """Returns a text that identifies this machine since its last start.

    Containers of one machine count as different machines if they share no memory or no process ids, since their
    processes cannot attach to each other.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    memory = pids = 0
    with suppress(OSError):
        memory = os.stat("/dev/shm").st_dev
    with suppress(OSError):
        pids = os.stat("/proc/self/ns/pid").st_ino
    return f"{boot}.{memory:x}.{pids:x}"


def host() -> str:
    """Returns the host name of this machine."""
    return socket.gethostname()
