"""The help of a command for a narrow terminal: each option has lines of its own, and no name is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len

LEAST_COLUMNS_WIDTH = 72
"""Narrower terminals have no room for the columns of rich."""
_INDENT, _TEXT_INDENT = 2, 6


def narrow_help(command: Any, ctx: Any, width: int) -> str:
    """Returns the help of a command in lines of at most this width."""
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    lines = [*_folded(f"Usage: {usage}", width, 0, _TEXT_INDENT)]
    for paragraph in (command.help or "").split("\n\n"):
        lines += ["", *_folded(paragraph, width, 0, 0)]
    for panel, parameters in _by_panel(command, ctx).items():
        lines += ["", f"{panel}:"]
        for parameter in parameters:
            name, text = parameter.get_help_record(ctx)
            lines += _folded(name, width, _INDENT, _TEXT_INDENT)
            lines += _folded(text, width, _TEXT_INDENT, _TEXT_INDENT)
    first, *examples = (command.epilog or "").split("\n\n")
    lines += ["", *_folded(first, width, 0, 0)]
    for example in examples:
        lines += _folded(example, width, _INDENT, _TEXT_INDENT)
    return "\n".join(lines).rstrip()


def _by_panel(command: Any, ctx: Any) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for parameter in command.get_params(ctx):
        if parameter.get_help_record(ctx) is not None:
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(parameter)
    return panels


def _folded(text: str, width: int, indent: int, indent_after: int) -> Iterator[str]:
    """Yields lines that are broken at spaces, and behind the | between choices."""
    line = " " * indent
    is_begun = False
    for word in re.findall(r"[^\s|]*\||[^\s|]+\s*|\s+", " ".join(text.split())):
        if is_begun and cell_len(line + word.rstrip()) > width:
            yield line.rstrip()
            line = " " * indent_after
        line += word
        is_begun = True
    if line.strip():
        yield line.rstrip()
