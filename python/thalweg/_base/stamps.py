"""Lines of progress that are not shown by a terminal, but kept in a file or a journal, begin with the time."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from thalweg._base.errors import UsageError
from thalweg._base.quantities import duration_ns, of_option

_DEFAULT_S = 1.0


def stamped(sentence: str) -> str:
    """Returns the sentence for stderr: behind the time (UTC) if stderr is no terminal."""
    return sentence if sys.stderr.isatty() else f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {sentence}"


def interval_s(text: str) -> float:
    """Returns the time between two lines of progress; 1 s for an empty text. Raises UsageError if it is no time."""
    seconds = of_option("--interval", text, duration_ns) / 1e9 if text else _DEFAULT_S
    if seconds <= 0:
        raise UsageError(f"--interval {text} is too short (it is 0): give for example 1min, or --quiet for no progress")
    return seconds
