"""Lets this process, and all that it starts, use only time that no other process wants."""

import os


def use_idle_time() -> str:
    """Returns why it cannot, as in a container that does not allow it, or an empty text."""
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as error:
        return error.strerror or str(error)
    return ""
