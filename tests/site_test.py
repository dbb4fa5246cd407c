"""The documentation site builds without a warning, from what is installed, and takes nothing from elsewhere."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# What a browser loads by itself: not links, which one follows.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]+)\"|<link(?![^>]*canonical)[^>]*\shref=\"([^\"]+)\""
)
LOADED_BY_STYLES = re.compile(r"@import|url\(['\"]?(?:https?:)?//")


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if any(find_spec(name) is None for name in ("sphinx", "myst_nb", "furo")):
        pytest.skip("what builds the site is not installed: make docs, or pip install 'thalweg[docs]'")
    built = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", repository / "docs", built]
    # No network: a proxy that is not there.
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **nowhere, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=550, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return built


def test_all_documents_are_in_it(repository: Path, site: Path) -> None:
    documents = [page.relative_to(repository / "docs") for page in (repository / "docs").rglob("*.md")]
    missing = [str(page) for page in documents if not (site / page.with_suffix(".html")).exists()]
    assert missing == []


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    loaded = {(a or b, page.name) for page in pages for a, b in LOADED.findall(page.read_text())}
    assert any("furo.css" in each[0] for each in loaded)
    assert [each for each in loaded if "//" in each[0]] == []
    styles = [style.name for style in site.rglob("*.css") if LOADED_BY_STYLES.search(style.read_text())]
    assert styles == []


def test_it_has_what_docstrings_and_helps_say(site: Path) -> None:
    python = (site / "reference" / "python.html").read_text()
    for name in ("thalweg.create", "thalweg.Table.iterate", "thalweg.Run.follow", "thalweg.checkpoint.save"):
        assert f'id="{name}"' in python, name
    assert "Parameters" in python
    commands = (site / "reference" / "commands.html").read_text()
    for text in ("thalweg record", "--max-file-size", "thalweg readout serve", "thalweg convert run.h5 run.root"):
        assert text in re.sub(r"<[^>]+>", "", commands), text


def test_the_notebook_was_run(site: Path) -> None:
    page = (site / "gallery" / "notebook.html").read_text()
    assert page.count("<img") >= 2
    assert "Table 'ch0'" in page


def test_all_that_is_exported_is_in_the_reference(repository: Path) -> None:
    import thalweg as tw

    page = (repository / "docs" / "reference" / "python.md").read_text()
    written = set(re.findall(r"^\.\. auto\w+:: (\w+)$", page, re.MULTILINE))
    of_types = set(re.findall(r"`tw\.(\w+)`", page.split("## Types of fields")[1].split("```")[0]))
    numbers = {name for name in tw.__all__ if re.fullmatch(r"u?int\d+", name)}  # "`tw.int8` to `tw.uint64`"
    modules = {"checkpoint", "layouts", "trace"}  # which have sections of their own
    assert set(tw.__all__) - written - of_types - numbers - modules == {"__version__"}
