"""What a folder shows is what the machine says of it: what cannot be asked is told."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from thalweg._serving.folder import ShownFolder


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dead").mkdir()
    list_folder = os.scandir

    def fail(path: Any) -> Any:
        if str(path).endswith("/dead"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", fail)
    (told,) = ShownFolder(tmp_path).runs()
    assert (told.name, told.state, told.image) == ("dead", "unreadable", "")
    assert told.problem == "the folder cannot be listed (Input/output error)"


def test_a_file_that_cannot_be_asked_for_is_no_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "circle.h5").symlink_to("circle.h5")
    folder = ShownFolder(tmp_path)
    with pytest.raises(tw.SystemError, match="Too many levels of symbolic links"):
        folder.newest("circle.h5")
    (told,) = folder.runs()
    assert told.state == "unreadable"
    assert "Too many levels of symbolic links" in told.problem
