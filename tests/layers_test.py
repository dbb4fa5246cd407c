"""Folders of the C++ core, and modules of the Python package, use what LAYERS says: no more, and no less."""

from pathlib import Path

import pytest

import layers


def test_no_folder_includes_what_it_may_not(repository: Path) -> None:
    assert list(layers.violations(repository / "thalweg")) == []


def test_every_line_of_layers_is_a_folder(repository: Path) -> None:
    names = layers.read_layers((repository / "thalweg" / "LAYERS").read_text())
    assert [name for name in names if not (repository / "thalweg" / name).is_dir()] == []


def test_no_module_imports_what_it_may_not(repository: Path) -> None:
    assert list(layers.violations(repository / "python" / "thalweg", layers.imports)) == []


def test_every_line_of_the_python_layers_is_a_module(repository: Path) -> None:
    root = repository / "python" / "thalweg"
    names = layers.read_layers((root / "LAYERS").read_text())
    there = [(root / name).is_dir() or (root / f"{name}.py").exists() or name == "_core" for name in names]
    assert [name for name, is_there in zip(names, there, strict=True) if not is_there] == []


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
    assert message == f"base/{file}: uses format/hdf5, and LAYERS does not let base use it"


def test_a_folder_without_a_line_is_found(tree: Path) -> None:
    (tree / "stray").mkdir()
    (tree / "stray" / "a.cc").write_text("")
    assert list(layers.violations(tree)) == ["stray/a.cc: stray has no line in LAYERS"]


def test_layers_only_look_down() -> None:
    with pytest.raises(ValueError, match="base uses model, which does not stand above it"):
        layers.read_layers("base: model\nmodel: base\n")


def test_a_folder_has_one_line() -> None:
    with pytest.raises(ValueError, match="base has two lines"):
        layers.read_layers("base:\nbase:\n")


def test_a_use_that_nobody_has_is_found(tree: Path) -> None:
    (tree / "format" / "hdf5" / "close.cc").write_text("")
    (message,) = layers.violations(tree)
    assert message == "LAYERS: format/hdf5 does not use base itself; take it out of its line"


def test_a_test_of_a_part_uses_what_the_whole_may_use(tree: Path) -> None:
    (tree / "LAYERS").write_text("base:\nformat/hdf5:\nformat: base format/hdf5\n")
    (tree / "format" / "hdf5" / "close.cc").write_text("")
    (tree / "format" / "close.cc").write_text('#include "thalweg/format/hdf5/close.h"\n')
    uses = '#include "thalweg/base/error.h"\n#include "thalweg/format/close.h"\n'
    (tree / "format" / "hdf5" / "close.test.cc").write_text(uses)
    assert list(layers.violations(tree)) == []
    (tree / "format" / "hdf5" / "close.test.cc").write_text('#include "thalweg/codec/lz4.h"\n')
    (tree / "format" / "hdf5" / "open.cc").write_text(uses)
    assert list(layers.violations(tree)) == [
        "format/hdf5/close.test.cc: uses codec, and LAYERS does not let format use it",
        "format/hdf5/open.cc: uses base, and LAYERS does not let format/hdf5 use it",
        "format/hdf5/open.cc: uses format, and LAYERS does not let format/hdf5 use it",
        "LAYERS: format does not use base itself; take it out of its line",
    ]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "package"
    (root / "cli").mkdir(parents=True)
    (root / "LAYERS").write_text("_core:\n_errors:\n_rows _arrow: _errors\n__init__: _rows\ncli: _core __init__\n")
    files = {
        "_errors.py": "import json\n",
        "_rows.py": "from package._errors import Error\n\n\ndef late():\n    from package import _arrow\n",
        "_arrow.py": "from package._rows import Rows\n",
        "__init__.py": "from package._rows import Rows\n",
        "cli/show.py": "from package import Rows, _core\nfrom package.cli.other import x\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    return root


def test_allowed_imports_pass(package: Path) -> None:
    assert list(layers.violations(package, layers.imports)) == []


@pytest.mark.parametrize("line", ["import package.cli.show", "from package.cli import show", "from package import cli"])
@pytest.mark.parametrize("place", ["{}\n", "def late():\n    {}\n"])
def test_a_forbidden_import_is_found_wherever_it_stands(package: Path, line: str, place: str) -> None:
    (package / "_errors.py").write_text(place.format(line))
    (message,) = layers.violations(package, layers.imports)
    assert message == "_errors.py: uses cli, and LAYERS does not let _errors use it"


def test_a_module_without_a_line_is_found(package: Path) -> None:
    (package / "stray.py").write_text("")
    assert list(layers.violations(package, layers.imports)) == ["stray.py: stray has no line in LAYERS"]


def test_an_import_that_nobody_has_is_found(package: Path) -> None:
    (package / "cli" / "show.py").write_text("from package import Rows\n")
    (message,) = layers.violations(package, layers.imports)
    assert message == "LAYERS: cli does not use _core itself; take it out of its line"
