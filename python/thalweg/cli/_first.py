"""The command imports this module first: from then on, Ctrl-C during the other imports prints no traceback."""

import os
import sys

from thalweg._base.signals import begin_imports
from thalweg._base.signals import end_imports as end_imports
from thalweg._base.signals import ignore_interrupts as ignore_interrupts


def _fill_closed_streams() -> None:
    """Opens the null device in the place of standard streams that are closed.

    Otherwise the file of a run might get the number of stderr, and with it the sentences that are written to stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


begin_imports()
_fill_closed_streams()
