"""Pages of the manual and completions are made from the commands, for all of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from thalweg.cli import app, register


@pytest.fixture(scope="module")
def manual(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    words = [sys.executable, str(repository / "tools" / "manual.py"), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_command_has_a_page(manual: Path) -> None:
    register()
    command = typer.main.get_command(app)
    names = {f"thalweg-{name}" for name in command.commands}  # type: ignore[attr-defined]
    pages = {page.stem for page in (manual / "man" / "man1").iterdir()}
    assert {"thalweg", *names} <= pages
    assert "thalweg-readout-serve" in pages
    text = (manual / "man" / "man1" / "thalweg-record.1").read_text()
    for word in ("--max-file-time".replace("-", "\\-"), ".SH EXAMPLES", "thalweg record", ".SH EXIT STATUS"):
        assert word in text, word


def test_man_shows_the_pages_without_a_warning(manual: Path) -> None:
    if (groff := shutil.which("groff")) is None:
        pytest.skip("groff is not installed")
    for page in (manual / "man" / "man1").iterdir():
        words = [groff, "-man", "-Tascii", "-ww", "-rLL=80n", str(page)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_bash_completes_commands_and_options(manual: Path) -> None:
    script = manual / "bash-completion" / "completions" / "thalweg"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for typed, wanted in (("thalweg ver", "verify"), ("thalweg record --max-file-t", "--max-file-time")):
        words = typed.split()
        program = (
            f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
            f'_thalweg_completion thalweg; echo "${{COMPREPLY[@]}}"'
        )
        done = subprocess.run(
            ["bash", "-c", program], capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        assert wanted in done.stdout.split(), (typed, done.stdout, done.stderr)
