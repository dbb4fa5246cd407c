"""create_venv.py DIRECTORY: a virtual environment with what building Thalweg needs (build-system in pyproject.toml)."""

import subprocess
import sys
import venv
from pathlib import Path


def main(directory: str) -> int:
    if sys.version_info < (3, 11):
        print(f"Python 3.11 or newer is needed, and {sys.executable} is {sys.version.split()[0]}.", file=sys.stderr)
        print("Name another one like this: make build PYTHON=python3.12", file=sys.stderr)
        return 2
    import tomllib  # new in 3.11, so it is imported after the check

    if not Path(directory, "bin", "pip").exists():
        venv.create(directory, with_pip=True, clear=True)
    pyproject = tomllib.loads(Path("pyproject.toml").read_text())
    pip = [f"{directory}/bin/python", "-m", "pip", "install", "--quiet"]
    return subprocess.call(pip + pyproject["build-system"]["requires"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
