"""Commands of a user that are run before and after a recording."""

import re
import shlex
import subprocess

from thalweg._base.errors import UsageError


def check_command(option: str, command: str) -> None:
    """Raises UsageError if the shell has no such command: that of --on-stop would be missed hours later."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{option} {command} cannot be run ({error}): close what it opens") from None
    if not words or not re.fullmatch(r"[\w./+-]+", words[0]):  # the shell makes something else of it
        return
    finding = ["/bin/sh", "-c", 'command -v -- "$1"', "sh", words[0]]
    if subprocess.run(finding, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode > 0:
        raise UsageError(f"{option} {command} cannot be run (the shell finds no command '{words[0]}'): give its path")
