"""Imported before all else that the command needs: until that is there, Ctrl-C is no traceback."""

from thalweg._signals import begin_imports
from thalweg._signals import end_imports as end_imports
from thalweg._signals import ignore_interrupts as ignore_interrupts

begin_imports()
