"""Imported before all else that the command needs: until that is there, Ctrl-C is no traceback."""

from thalweg._signals import begin_imports
from thalweg._signals import end_imports as end_imports

begin_imports()
