"""Producers that need more memory than their process may take: it is said."""

import subprocess
from pathlib import Path

from recording import SMALL, THALWEG, record

import thalweg as tw

WIDE = {"t": {f"x{i}": tw.float64 for i in range(100)}}


def test_what_one_producer_needs_is_no_news(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", WIDE) as out:
        out.producer("t").finish()
        assert out.status().memory_need == ""
        report = out.close()
    assert report.notes == ()


def test_the_report_says_what_is_more_than_the_budget(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", WIDE, tuning={"memory_bytes": "4 MiB"}) as out:
        producers = [out.producer("t") for _ in range(3)]
        for producer in producers:
            producer.append(dict.fromkeys(WIDE["t"], 1.0))
            producer.finish()
        report = out.close()
    (note,) = report.notes
    assert "more than the 4.19 MB that they should (3 producers cannot do with less" in note
    assert "little room lowers it): no row is lost" in note  # for a user who has never set memory_bytes
    assert "table_page_bytes" in note
    assert note in str(report)
    assert report.is_whole
    assert report.rows == 3


def test_record_says_it_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    arguments = ("--records", "100", "--set", "memory_bytes=4KiB")
    report = record(path, *SMALL, *arguments)
    (note,) = report["files"][0]["notes"]
    command = [THALWEG, "record", "--out", str(path), "--force", *SMALL, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    # The test cannot know beforehand which of its producers is the last one.
    assert note.partition(", the last one in table ")[0] in told.stdout
