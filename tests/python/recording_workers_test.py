"""The recording process listens to its producers, whatever a library prints in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from recording import wait_for

from thalweg._recording.workers import WorkerProcess

# Takes the place of the interpreter that runs a producer.
PROGRAM = """#!/bin/sh
read configuration
printf '%s\\n' 'a library speaks' 5 '[1]' '"ready"' null '{"ready": true}'
read start
printf '%s\\n' '{"rows": {"ch0": 7}}'
"""


def test_lines_of_libraries_do_not_end_the_listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "producer"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    process = WorkerProcess({}, ["ch0"])
    try:
        assert process.ready.wait(30)
        assert process.is_running()
        process.say("start 0")
        process.close()
        assert process.problem() == ""
    finally:
        process.kill()


# It prints much, and then waits for a line.
CHATTY = """#!/bin/sh
read configuration
head -c 3000000 /dev/zero | tr '\\0' x >&2
printf '%s\\n' '{"ready": true}'
read start
printf '\\nits last words\\n' >&2
exit 3
"""


def test_what_a_process_prints_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "producer"
    program.write_text(CHATTY)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    process = WorkerProcess({}, ["ch0"])
    try:
        assert process.ready.wait(30)
        process.trim_log()
        process.say("start 0")
        wait_for(lambda: not process.is_running())
        assert os.fstat(process._log.fileno()).st_size < 100
        assert process.problem().endswith("(its last words): the records that it had published by then are in the file")
    finally:
        process.kill()
        process.close()
