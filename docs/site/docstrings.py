"""Docstrings as they are written here, as Sphinx wants them: lines "name: what it is" are a list of parameters."""

import inspect
import re
from typing import Any

_PARAMETER = re.compile(r"^(\*{0,2}\w+): (\S.*)$")
_QUOTED = re.compile(r"(`[^`]*`)")


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _process(_app: Any, what: str, _name: str, subject: Any, _options: Any, lines: list[str]) -> None:
    names = _parameters(subject) if what in ("function", "method", "class") else set()
    found: list[str] = []
    in_parameter = False
    for line in lines:
        parameter = _PARAMETER.match(line)
        if parameter and parameter[1].lstrip("*") in names:
            if not in_parameter:
                found.append("")
            in_parameter = True
            found.append(f":param {parameter[1]}: {_plain(parameter[2])}")
        elif in_parameter and line.strip():
            found.append(f"    {_plain(line.strip())}")
        else:
            in_parameter = False
            found.append(_plain(line))
    lines[:] = found


def _parameters(subject: Any) -> set[str]:
    try:
        return set(inspect.signature(subject).parameters)
    except (TypeError, ValueError):
        return set()


def _plain(line: str) -> str:
    """Without what reStructuredText takes for markup: only `quoted` text is any."""
    parts = _QUOTED.split(line)
    return "".join(part if part.startswith("`") else re.sub(r"([*|_\\])(?=\s|\W|$)", r"\\\1", part) for part in parts)
