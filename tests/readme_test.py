"""The figures of docs/performance.md, and of the study of the readout, are those of the results."""

import json
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
