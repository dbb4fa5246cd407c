"""Turns errors of the command line parser into sentences of ours."""

from __future__ import annotations

from typing import Any

_KINDS = {"int_parsing": "no whole number", "int_from_float": "no whole number", "float_parsing": "no number"}
"""What a value is not, by the kinds of pydantic, which checks values for typer."""


def sentence_of(error: Any) -> str:
    """Returns what the parser says, as "no such option: --foo; see --help", or an empty text if it says nothing."""
    message = str(error.format_message()).strip().rstrip(".")
    if not message:
        return ""
    if (value := _about_value(error)) and (found := getattr(error, "message", "")):
        message = message.replace(str(found).rstrip("."), value)
    return message[:1].lower() + message[1:] + _what_is_taken(error) + "; see --help"


def _about_value(error: Any) -> str:
    """Returns what is wrong with a value, or an empty text if the parser says it well itself."""
    details = getattr(error.__cause__, "errors", None)
    if details is None:
        return ""
    first = details()[0]
    if what := _KINDS.get(first["type"]):
        return f"'{first['input']}' is {what}"
    return str(first["msg"]).removeprefix("Value error, ").rstrip(".")


def _what_is_taken(error: Any) -> str:
    """Returns all arguments of a command, if one of several is missing: which one the parser misses is a guess."""
    missing = getattr(error, "param", None)
    if type(error).__name__ != "MissingParameter" or getattr(missing, "param_type_name", "") != "argument":
        return ""
    command = error.ctx.command
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    names = [each.metavar or each.name.upper() for each in arguments]
    return f" ({command.name} takes {' '.join(names)})" if len(names) > 1 else ""
