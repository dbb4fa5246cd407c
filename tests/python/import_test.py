"""What `import thalweg` takes with it: the core, the errors, and nothing that only some programs need."""

import subprocess
import sys

import thalweg as tw

PROGRAM = """
import sys
before = set(sys.modules)
import thalweg
print(*sorted(set(sys.modules) - before))
"""
# These take more than a millisecond (standard library), are extras, or are for the command.
LATE = {
    "pathlib",
    "subprocess",
    "urllib.parse",
    "fnmatch",
    "logging",
    "asyncio",
    "multiprocessing",
    "importlib.metadata",
}
OTHERS = {"numpy", "matplotlib", "rich", "typer", "prometheus_client", "h5py", "uproot", "awkward", "pyarrow", "pandas"}
# What the names of the package come from: each is imported with the first name of it that a program uses.
PARTS = {
    "_append",
    "_derive",
    "_files",
    "_others",
    "_reading",
    "_schema",
    "_values",
    "_writing",
    "checkpoint",
    "cli",
    "layouts",
}


def test_few_things_are_imported_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    imported = set(done.stdout.split())
    assert "thalweg._core" in imported
    assert imported & (LATE | OTHERS | {f"thalweg.{each}" for each in PARTS}) == set()


def test_what_is_imported_late_is_there() -> None:
    """Each name in a process of its own would take long: in one, in the order of the alphabet and backwards."""
    for names in (sorted(tw.__all__), sorted(tw.__all__, reverse=True)):
        program = (
            f"import thalweg\nfor name in {names}:\n    assert getattr(thalweg, name) is getattr(thalweg, name), name"
        )
        subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
    assert set(tw.__all__) <= set(dir(tw))


def test_a_command_imports_no_other_one() -> None:
    program = (
        "import sys; from thalweg.cli import run; sys.argv[1:] = ['knobs', '--json']; assert run() == 0; "
        "print(*(name for name in sys.modules if name.startswith('thalweg.cli.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert "thalweg.cli.knobs" in done.stderr.split()
    assert {"thalweg.cli.record", "thalweg.cli.readout", "thalweg.cli.inspect"} & set(done.stderr.split()) == set()
