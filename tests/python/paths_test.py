"""What a path names is asked of the machine, and what it does not say is an error."""

from collections.abc import Callable
from pathlib import Path

import pytest

import thalweg as tw
from thalweg._base.paths import is_file, is_folder, is_there

QUESTIONS = [is_there, is_folder, is_file]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_cannot_be_asked_is_an_error(tmp_path: Path, question: Callable[[Path], bool]) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(tw.SystemError, match=r"cannot look for .*circle/run.h5 .Too many levels of symbolic links"):
        question(tmp_path / "circle" / "run.h5")


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to("not there")
    (tmp_path / "link").symlink_to(tmp_path)
    asked = ["file", "nowhere", "link", "not there", "file/below", "n" * 300]
    answers = [[question(tmp_path / name) for question in QUESTIONS] for name in asked]
    assert answers == [
        [True, False, True],
        [True, False, False],
        [True, True, False],
        [False, False, False],
        [False, False, False],
        [False, False, False],
    ]


def test_a_folder_that_does_not_answer_is_no_file_to_convert_from(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(tw.SystemError, match="Too many levels of symbolic links"):
        tw.open(tmp_path / "circle" / "run.h5")
