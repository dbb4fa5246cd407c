"""What to say of a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence about an unknown name: the one that was probably meant, or all that are known.

    "_" and "-" count as the same."""
    known = list(known)
    alike = {each.replace("_", "-"): each for each in known}
    close = difflib.get_close_matches(name.replace("_", "-"), alike, n=1)
    if close:
        return f" (did you mean '{alike[close[0]]}'?)"
    return f" (there are {', '.join(known)})" if known else ""
