"""The command imports this module first: from then on, Ctrl-C during the other imports prints no traceback."""

from thalweg._base.signals import begin_imports
from thalweg._base.signals import end_imports as end_imports
from thalweg._base.signals import ignore_interrupts as ignore_interrupts

begin_imports()
