"""What an exception says that a class of a user has raised, and where."""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from thalweg._base.errors import text_of

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def file_of(made: Callable[..., Any]) -> str:
    """Returns the file of this class, or an empty text."""
    return getattr(sys.modules.get(made.__module__), "__file__", None) or ""


def text_at(error: BaseException, source_file: str) -> str:
    """Returns what the error says, and the line of the user's file that it comes from, and of a library that raised
    it. A syntax error says itself where it is."""
    if isinstance(error, SyntaxError):
        return text_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    last = next((each for each in reversed(frames) if not each.filename.startswith("<frozen ")), frames[-1])
    own = next((each for each in reversed(frames) if each.filename == source_file), last)
    if own.filename.startswith(_PACKAGE):  # of a value that was returned, and whose text says what is wrong
        return text_of(error)
    raised = "" if own is last else f", raised at {_place(last)}"
    return f"{text_of(error)}{raised}, at {_place(own)}"


def _place(frame: traceback.FrameSummary) -> str:
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"
