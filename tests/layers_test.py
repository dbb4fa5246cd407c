"""Folders of the C++ core, and modules of the Python package, use what LAYERS says: no more, and no less."""

from pathlib import Path

import pytest

import layers


def test_no_folder_includes_what_it_may_not(repository: Path) -> None:
    assert list(layers.violations(repository / "thalweg")) == []


def test_every_line_of_layers_is_a_folder(repository: Path) -> None:
    names = layers.read_layers((repository / "thalweg" / "LAYERS").read_text())
    assert [name for name in names if not (repository / "thalweg" / name).is_dir()] == []


def test_no_import_is_hidden_and_no_modules_import_each_other(repository: Path) -> None:
    root = repository / "python" / "thalweg"
    assert [*layers.hidden(root), *layers.circles(root)] == []


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


@pytest.mark.parametrize("line", ["base model:", " base:", ": base", "base model: other"])
def test_a_line_has_one_name(line: str) -> None:
    with pytest.raises(ValueError, match="is not one name"):
        layers.read_layers(f"other:\n{line}\n")


def test_a_folder_has_one_line() -> None:
    with pytest.raises(ValueError, match="base has two lines"):
        layers.read_layers("base:\nbase:\n")


def test_a_use_that_no_folder_has_is_found(tree: Path) -> None:
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
    (root / "LAYERS").write_text(
        "_core:\n_errors:\n_arrow: _errors\n_rows: _errors _arrow\n__init__: _rows\ncli: _core __init__\n"
    )
    files = {
        "_errors.py": "import json\n",
        "_rows.py": "from package._errors import Error\nfrom package import _arrow\n",
        "_arrow.py": "from package._errors import Error\n",
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


def test_an_import_that_no_room_has_is_found(package: Path) -> None:
    (package / "cli" / "show.py").write_text("from package import Rows\n")
    (message,) = layers.violations(package, layers.imports)
    assert message == "LAYERS: cli does not use _core itself; take it out of its line"


@pytest.mark.parametrize("line", ['import_module("package.cli")', '["python", "-m", "package.cli.show"]'])
def test_a_module_that_is_named_in_a_string_is_used(package: Path, line: str) -> None:
    (package / "_errors.py").write_text(f"x = {line}\n")
    (message,) = layers.violations(package, layers.imports)
    assert message == "_errors.py: uses cli, and LAYERS does not let _errors use it"


@pytest.mark.parametrize("call", ["importlib.import_module", "import_module", "__import__"])
@pytest.mark.parametrize("place", ["x = {}(name)\n", "def late():\n    return {}(name).x\n"])
def test_only_init_and_cli_import_by_a_name(package: Path, call: str, place: str) -> None:
    for file in ("__init__.py", "cli/show.py"):
        (package / file).write_text(place.format(call))
    assert list(layers.hidden(package)) == []
    (package / "_rows.py").write_text(place.format(call))
    (message,) = layers.hidden(package)
    assert "by which only __init__ and cli may import" in message


LATE = "def late():\n    from package._errors import Error\n"


@pytest.mark.parametrize("text", [LATE, LATE.replace("from package._errors import Error", "import package._errors")])
def test_only_init_and_cli_import_in_functions(package: Path, text: str) -> None:
    for file in ("__init__.py", "cli/show.py"):
        (package / file).write_text(text)
    assert list(layers.hidden(package)) == []
    (package / "_rows.py").write_text(text)
    (message,) = layers.hidden(package)
    assert message == "_rows.py:2: imports package._errors in a function, as only __init__ and cli may"


def test_what_needs_a_library_may_be_imported_where_that_is_there(package: Path) -> None:
    (package / "_errors.py").write_text("import h5py\n")
    (package / "_rows.py").write_text(LATE)
    assert list(layers.hidden(package)) == []


@pytest.mark.parametrize("place", ["{}\n", "if TYPE_CHECKING:\n    {}\n", "def late():\n    {}\n"])
def test_modules_that_import_each_other_are_found(package: Path, place: str) -> None:
    assert list(layers.circles(package)) == []
    (package / "_errors.py").write_text(place.format("from package._rows import Rows"))
    assert list(layers.circles(package)) == [
        "these modules import each other: package._arrow, package._errors, package._rows"
    ]
