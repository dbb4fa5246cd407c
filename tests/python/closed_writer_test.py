"""A run that is closed has its report, and closing it again does nothing."""

from pathlib import Path

import pytest

import thalweg as tw

SCHEMA = {"t": {"x": tw.int64}}


def test_the_report_is_there_after_the_block(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        out.producer("t").append(x=[1, 2, 3])
        with pytest.raises(tw.UsageError, match=r"run.h5 has no report \(it is not closed\)"):
            _ = out.report
    assert (out.report.rows, out.report.is_whole) == (3, True)
    assert out.close() is out.report
    with pytest.raises(tw.UsageError, match="is closed"):
        out.producer("t")


def test_an_abandoned_run_has_none(tmp_path: Path) -> None:
    out = tw.create(tmp_path / "run.h5", SCHEMA)
    out.abandon()
    out.abandon()
    for use in (out.close, lambda: out.report):
        with pytest.raises(tw.UsageError, match="abandoned"):
            use()
