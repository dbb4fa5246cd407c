"""No folder of the C++ core includes from a folder that thalweg/LAYERS does not let it use."""

from pathlib import Path

import pytest

import layers


def test_no_folder_includes_what_it_may_not(repository: Path) -> None:
    assert list(layers.violations(repository / "thalweg")) == []


def test_every_line_of_layers_is_a_folder(repository: Path) -> None:
    names = layers.read_layers((repository / "thalweg" / "LAYERS").read_text())
    assert [name for name in names if not (repository / "thalweg" / name).is_dir()] == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "LAYERS").write_text("# comment\nbase:\nformat/hdf5: base\n")
    for folder in ("base", "format/hdf5"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "base" / "error.h").write_text("#pragma once\n")
    (tmp_path / "format" / "hdf5" / "close.cc").write_text('#include "thalweg/base/error.h"\n#include <vector>\n')
    return tmp_path


def test_allowed_includes_pass(tree: Path) -> None:
    (tree / "format" / "hdf5" / "close.test.cc").write_text('#include "thalweg/format/hdf5/close.h"\n')
    assert list(layers.violations(tree)) == []


@pytest.mark.parametrize("include", ['#include "thalweg/format/hdf5/close.h"', " #  include <thalweg/format/hdf5/a.h>"])
@pytest.mark.parametrize("file", ["error.h", "error.cc", "error.test.cc"])
def test_a_forbidden_include_is_found(tree: Path, file: str, include: str) -> None:
    (tree / "base" / file).write_text(f"#pragma once\n\n{include}\n")
    (message,) = layers.violations(tree)
    assert message.startswith(f"base/{file}: includes thalweg/format/hdf5/")


def test_a_folder_without_a_line_is_found(tree: Path) -> None:
    (tree / "stray").mkdir()
    (tree / "stray" / "a.cc").write_text("")
    assert list(layers.violations(tree)) == ["stray/a.cc: its folder has no line in LAYERS"]


def test_layers_only_look_down() -> None:
    with pytest.raises(ValueError, match="base uses model, which does not stand above it"):
        layers.read_layers("base: model\nmodel: base\n")
