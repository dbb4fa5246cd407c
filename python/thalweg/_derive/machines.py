"""Identifies the machine on which a process runs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from thalweg._base.file_state import boot_id


def machine() -> str:
    """Returns a text that identifies this machine since its last start.

    Containers of one machine count as different machines if they share no memory or no process ids, since their
    processes cannot attach to each other. Raises OSError if the machine cannot be asked.
    """
    memory = 0
    with suppress(FileNotFoundError):  # then there is no memory to share
        memory = os.stat("/dev/shm").st_dev
    pids = os.stat("/proc/self/ns/pid").st_ino
    return f"{boot_id()}.{memory:x}.{pids:x}"


def host() -> str:
    """Returns the host name of this machine."""
    return socket.gethostname()
