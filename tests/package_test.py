"""The installed package and the files around the code agree with each other."""

import importlib.metadata
import os
import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import thalweg


def test_the_version_is_the_same_everywhere(repository: Path, thalweg_command) -> None:
    version = thalweg.__version__
    assert importlib.metadata.version("thalweg") == version
    assert thalweg_command("--version").stdout == f"thalweg {version}\n"
    assert f"VERSION {version} " in (repository / "CMakeLists.txt").read_text()
    assert f"\nversion: {version}\n" in (repository / "CITATION.cff").read_text()
    assert f"\n## {version}" in (repository / "CHANGELOG.md").read_text()


def test_type_checkers_see_the_extension() -> None:
    package = files("thalweg")
    assert package.joinpath("py.typed").is_file()
    assert "def version() -> str:" in package.joinpath("_core.pyi").read_text()


def test_the_program_that_reads_what_nothing_vouches_for_is_installed() -> None:
    assert os.access(str(files("thalweg").joinpath("thalweg-hdf5-reader")), os.X_OK)


def test_programs_are_the_same_in_whatever_folder_they_are_built(repository: Path, tmp_path: Path) -> None:
    folder = Path(str(files("thalweg")))
    programs = [each for each in folder.rglob("*") if each.is_file() and each.read_bytes()[:4] == b"\x7fELF"]
    assert programs
    for program in programs:
        bare = tmp_path / program.name  # a debugger wants to know the folder
        subprocess.run(["strip", "--strip-debug", "-o", bare, program], check=True)
        assert os.fsencode(repository / "thalweg") not in bare.read_bytes(), program


def test_every_decision_is_numbered_and_says_why(repository: Path) -> None:
    records = sorted((repository / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [int(record.name[:4]) for record in records]
    assert len(set(numbers)) == len(numbers)  # none stands twice; gaps are records that were given up
    for record in records:
        headings = re.findall(r"^## (.*)$", record.read_text(), re.MULTILINE)
        assert headings == ["Status", "Context", "Decision", "Consequences"], record.name


def test_links_between_documents_lead_somewhere(repository: Path) -> None:
    documents = [*repository.glob("*.md"), *repository.glob("docs/**/*.md"), *repository.glob("studies/**/*.md")]
    broken = [
        f"{document.relative_to(repository)}: {target}"
        for document in documents
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert broken == []


def test_make_help_names_every_command(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    for target in phony[1].split():
        if not target.endswith("-packages"):
            assert re.search(rf"^{target}:.* ## \S", makefile, re.MULTILINE), target


def test_build_requirements_are_bounded_from_below(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    requirements = project["build-system"]["requires"] + project["project"]["dependencies"]
    assert [requirement for requirement in requirements if ">=" not in requirement] == []
