"""What to say of a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def likely(name: object, known: Iterable[str]) -> str:
    """Returns " (did you mean 'x'?)" if one of the names is alike, else an empty text. "_" and "-" count as the same.

    Names may be paths: then the last part alone may be meant, too.
    """
    if not isinstance(name, str):
        return ""
    from difflib import get_close_matches  # importing it takes time

    paths = list(known)
    wholes, ends = ({_plain(each(path)): path for path in paths} for each in (str, _end))
    for alike, least in ((wholes, 0.6), (ends, 0.75)):
        if close := get_close_matches(_plain(name), alike, n=1, cutoff=least):
            return f" (did you mean '{alike[close[0]]}'?)"
    return ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence about an unknown name: the one that was probably meant, or all that are known."""
    known = list(known)
    return likely(name, known) or (f" (there are {', '.join(known)})" if known else "")


def _plain(name: str) -> str:
    return name.replace("_", "-").lower()


def _end(path: str) -> str:
    return path.rpartition("/")[2]
