"""What `thalweg tune --screen` says of each setting of six programs, against strace."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from screen_judge import Judge
from screen_programs import PROGRAMS, Screened

LEAST_SETTINGS = 20


def test_a_screen_says_what_strace_says(tmp_path: Path, screened: Screened) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    verdicts = Judge(screened, tmp_path / "judged").verdicts()
    print(f"{screened}: {len(verdicts)} settings, {dict(Counter(each.by_strace for each in verdicts))}")
    assert [each for each in verdicts if not each.is_right] == []
    assert len(verdicts) >= LEAST_SETTINGS
    assert {each.by_strace for each in verdicts} >= {"acts", "inert"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_long = metafunc.config.getoption("--long")
    programs = [each for each in PROGRAMS if each.is_quick or is_long]
    metafunc.parametrize("screened", programs, ids=str)
