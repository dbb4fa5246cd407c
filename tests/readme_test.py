"""The figures of docs/performance.md, and of the study of the readout, are those of the results."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "studies"))

from readout import findings, readme  # noqa: E402


def test_the_readouts_table_is_that_of_its_study() -> None:
    text = readme.PAGE.read_text()
    summary = json.loads(readme.RESULTS.read_text())
    assert readme.with_table(text, summary) == text, "run `python studies/readout/readme.py`"


def test_other_results_make_another_table() -> None:
    summary = json.loads(readme.RESULTS.read_text())
    before = readme.table(summary)
    for figure in summary["figures"]:
        figure["spread"][0] *= 2
    assert readme.table(summary) != before
    assert readme.NOT_MEASURED in readme.table({"figures": []})


def test_the_findings_of_the_readout_are_those_of_its_results() -> None:
    text = findings.PAGE.read_text()
    summary = json.loads(findings.RESULTS.read_text())
    assert findings.with_findings(text, summary) == text, "run `python studies/readout/findings.py`"
    summary["variants"] = {}
    assert findings.NOT_MEASURED in findings.findings(summary)


def test_extras_are_quoted_for_all_shells() -> None:
    """zsh takes brackets without quotes for a pattern, and installs nothing."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]
    files += (ROOT / "thalweg").rglob("*.cc")
    texts = {path: " ".join(path.read_text().split()) for path in files if "build" not in path.parts}
    commands = [(path, found) for path, text in texts.items() for found in re.findall(r"pip install (\S*\[\S+)", text)]
    assert len(commands) > 10
    assert [each for each in commands if each[1][0] not in "'\""] == []
