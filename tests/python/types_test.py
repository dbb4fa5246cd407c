"""The public Python code, with the generated stubs of the extension, passes mypy in strict mode."""

import subprocess
import sys
from pathlib import Path


def test_the_installed_package_is_fully_typed(repository: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--config-file", repository / "pyproject.toml", "-p", "thalweg"]
    result = subprocess.run(command, cwd=repository / "tests", capture_output=True, text=True, timeout=500, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
