"""The command as shells know it: as a module, and with completions."""

import os
import subprocess
import sys

import pytest


def thalweg(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "thalweg", *words]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_package_is_the_command() -> None:
    assert thalweg("--version").stdout.startswith("thalweg 0.")
    wrong = thalweg("inspect", "/no/such/file.h5")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("thalweg: ")


@pytest.mark.parametrize(
    ("shell", "environment"),
    [
        ("bash", {"COMP_WORDS": "thalweg re", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "thalweg re"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "thalweg re", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_subcommands(shell: str, environment: dict[str, str]) -> None:
    done = thalweg(_THALWEG_COMPLETE=f"complete_{shell}", **environment)
    assert "record" in done.stdout
    assert "recover" in done.stdout
    assert "verify" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_of_completions(shell: str) -> None:
    done = thalweg(_THALWEG_COMPLETE=f"source_{shell}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "_THALWEG_COMPLETE" in done.stdout
    assert "--install-completion" in thalweg("--help", TERM="dumb", COLUMNS="100").stdout
