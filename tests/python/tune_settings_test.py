"""A search of `thalweg tune` on a storage with a known law, the file of settings that it writes, and `--apply`."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import pytest
from storage_law import Law

from thalweg._tune.choice import choose
from thalweg._tune.settings_file import SettingsFile, read_settings

THALWEG = str(Path(sys.executable).with_name("thalweg"))
# HDF5 gathers these pieces in its sieve buffer: many more writes with its default size than with a larger one.
WRITES = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    rows = file.create_dataset("x", (250, 1000), "f4")
    for i in range(125):
        rows[i, :500] = np.arange(500) + i
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def timed_runs() -> list[dict[str, Any]]:
    lines = [line for path in Path().glob(".thalweg-tune-*/journal") for line in path.read_text().split("\n")[1:-1]]
    return [fact["run"] for line in lines if (fact := json.loads(line))["what"] == "timed"]


def test_a_search_that_is_killed_goes_on_and_its_file_is_applied(tmp_path: Path) -> None:
    law = Law(Path.cwd(), tmp_path / "law", servers=4, latency_us=20_000, bandwidth=10**9)
    program = ["--", sys.executable, "-c", WRITES]
    among = ["--only", "sieve_buf_size", "--only", "file_locking", "--only", "chunk_cache"]
    words = [THALWEG, "tune", "--runs", "8", "--pairs", "40", *among, *program]
    process = subprocess.Popen(words, env=law.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(timed_runs()) < 3:
        time.sleep(0.01)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    known = timed_runs()
    line = [THALWEG, "tune", "--resume", "--json"]
    done = subprocess.run(line, env=law.environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "sieve_buf_size=4MiB" in found["winner"]["settings"]
    assert found["winner"]["gain"]["is_shown"]  # after 5 pairs on a quiet machine, and more on a loaded one
    assert found["winner"]["data"] == []
    assert "chunk_cache=16MiB" in found["screen"]["inert"]
    assert not any("page_buffer" in name for name in [*found["screen"]["inert"], *found["screen"]["failed"]])
    # Three sieve buffers, and locks or none; the chunk cache is inert. Two runs are too few for a race of four.
    assert (found["combinations"], found["tried"], found["in_race"], found["runs"]) == (6, 6, 0, 6)
    with h5py.File("out.h5") as file:
        assert file["x"][124, 499] == 499 + 124

    path = Path("thalweg-tune.json")
    written = read_settings(path)
    assert [str(each) for each in written.chosen] == found["winner"]["settings"]
    searched = written.evidence["searched_s"]
    first = [None if run["how_it_ended"] else run["seconds"] for run in known[1:3]]  # None: twice as long as the best
    assert first == [each for runs in searched.values() for each in runs][:2]

    Path("out.h5").unlink()
    assert applied(path, *program) == []
    Path("out.h5").unlink()
    none = applied(path, "--", sys.executable, "-c", "import h5py; h5py.File('out.h5', 'w').close()")
    assert "sieve_buf_size=4MiB" in none  # there are no data


def applied(path: Path, *words: str) -> list[str]:
    line = [THALWEG, "tune", "--json", "--force", "--apply", str(path), *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout)["inert"])


def test_what_the_command_leaves_with_the_settings_remains() -> None:
    SettingsFile(choose(["file_locking=BEST_EFFORT"], may_change_file=True), "").write(Path("s.json"))
    done = subprocess.run(
        [THALWEG, "tune", "--apply", "s.json", "--", "sh", "-c", "echo ${HDF5_USE_FILE_LOCKING:-none} > out.txt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1  # the data are other
    assert "out.txt has other bytes" in done.stdout
    assert Path("out.txt").read_text() == "BEST_EFFORT\n"


def refusal(path: Path, code: int = 2) -> str:
    words = [THALWEG, "tune", "--apply", str(path), "--", "sh", "-c", "echo x > out.txt"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


def test_files_that_are_not_as_they_were_written_are_refused() -> None:
    path = Path("s.json")
    settings = SettingsFile(choose(["sieve_buf_size=4MiB"], may_change_file=True), "", {"io": ["out.h5: less"]})
    settings.write(path)
    assert read_settings(path) == settings
    content = json.loads(path.read_bytes())

    def rewritten(**changes: object) -> str:
        path.write_text(json.dumps(content | changes))
        return refusal(path)

    assert "s.json was edited" in rewritten(settings={"sieve_buf_size": "8MiB"})
    assert "s.json was edited" in rewritten(mpi="MPICH 4")
    assert "no setting 'sieve_buf_siz'" in rewritten(settings={"sieve_buf_siz": "8MiB"})
    assert "s.json has 'colour', which is not known" in rewritten(colour="red")
    assert "s.json has no 'evidence'" in rewritten(evidence=[])
    assert "is of another version of Thalweg (2)" in rewritten(thalweg_tune=2)
    path.write_text('{"a": 1}')
    assert "s.json is no file of settings" in refusal(path)
    path.write_text("[")
    assert "s.json is no file of settings" in refusal(path)
    assert "cannot be read" in refusal(Path("none.json"))


def test_settings_that_were_found_with_another_mpi_are_refused() -> None:
    SettingsFile(choose(["cb_nodes=2"], may_change_file=True), "MPICH Version: 4.0.2").write(Path("s.json"))
    said = refusal(Path("s.json"))
    assert "they were found with MPICH Version: 4.0.2, and it has none" in said
    assert Path("out.txt").read_text() == "x\n"


def test_a_file_of_settings_is_not_replaced_unasked() -> None:
    Path("thalweg-tune.json").write_text("mine")
    words = [THALWEG, "tune", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "give --force" in done.stderr
    assert Path("thalweg-tune.json").read_text() == "mine"
