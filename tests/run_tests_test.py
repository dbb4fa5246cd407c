"""Tests tools/run_tests.py: a test that fails beside others runs once more, alone, and nothing of it is silent."""

import os
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[1] / "tools/run_tests.py"
FAILS_AT_FIRST = "[ -e {0} ] || {{ touch {0}; exit 1; }}"
PRESETS = """{"version": 6,
  "configurePresets": [{"name": "default", "binaryDir": "${sourceDir}/build/default"}],
  "testPresets": [{"name": "default", "configurePreset": "default"}]}"""
PYTHON = """import subprocess
import pytest

def test_passes():
    pass

@pytest.mark.parametrize("name", [{names}])
def test_of(name):
    assert subprocess.call(["sh", "-c", name]) == 0
"""


def run(folder: Path, cpp: list[str], python: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the tool on a project whose tests are these commands of the shell."""
    tests = "\n".join(f'add_test(NAME t/{i}.x COMMAND sh -c "{command}")' for i, command in enumerate(["true", *cpp]))
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(x NONE)\nenable_testing()\n{tests}\n"
    )
    (folder / "CMakePresets.json").write_text(PRESETS)
    (folder / "tests").mkdir()
    (folder / "tests/some_test.py").write_text(PYTHON.format(names=", ".join(map(repr, python))))
    subprocess.run(["cmake", "--preset", "default", "-G", "Ninja"], cwd=folder, check=True, capture_output=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run([sys.executable, TOOL], cwd=folder, capture_output=True, text=True, env=kept, check=False)


def test_what_fails_only_beside_others_passes_and_is_named(tmp_path: Path) -> None:
    flaky = [FAILS_AT_FIRST.format(tmp_path / f"mark-{i}") for i in range(2)]
    result = run(tmp_path, flaky[:1], flaky[1:])
    assert result.returncode == 0, result.stdout
    assert "4 passed, 0 failed, 0 skipped" in result.stdout
    named = result.stdout.partition("Passed only alone, so they depend on the load of the machine:")[2]
    assert "t/1.x" in named
    assert "some_test.py::test_of" in named


def test_what_fails_alone_too_fails(tmp_path: Path) -> None:
    flaky = FAILS_AT_FIRST.format(tmp_path / "mark")
    result = run(tmp_path, [flaky, "false"], ["false"])
    assert result.returncode == 1
    assert "3 passed, 2 failed, 0 skipped" in result.stdout
    named = result.stdout.partition("Failed alone, too:")[2]
    assert "t/2.x" in named
    assert "some_test.py::test_of[false]" in named
    assert "t/1.x" not in named


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    flaky = [FAILS_AT_FIRST.format(tmp_path / f"mark-{i}") for i in range(6)]
    result = run(tmp_path, [], flaky)
    assert result.returncode == 1
    assert "2 passed, 6 failed, 0 skipped" in result.stdout
    assert "alone" not in result.stdout


def test_what_crashes_or_is_left_out_alone_has_not_passed(tmp_path: Path) -> None:
    flaky = FAILS_AT_FIRST.format(tmp_path / "mark")
    crash = f"[ -e {tmp_path / 'crash'} ] && kill -9 $PPID; touch {tmp_path / 'crash'}; exit 1"
    result = run(tmp_path, [flaky], [crash])
    assert result.returncode == 1
    assert "2 passed, 2 failed, 0 skipped" in result.stdout
    assert "Passed only alone" not in result.stdout


def test_a_process_that_crashes_is_a_failure(tmp_path: Path) -> None:
    result = run(tmp_path, [], ["kill -9 $PPID"])
    assert result.returncode == 1
    assert "1 failed" in result.stdout
