"""The page of `thalweg explain --html`, as a real browser draws it, and timelines that other viewers read."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import browser
from rule_programs import START
from tracing import THALWEG, compile_c, trace

from thalweg._explain.page import pictures
from thalweg._explain.verdict import explain

# Nested calls of three levels, in two processes.
PROGRAM = """
import os, sys, time, h5py, numpy as np
path = sys.argv[1]
if os.fork() == 0:
    fd = os.open(path + ".raw", os.O_RDWR | os.O_CREAT)
    for i in range(300): os.pwrite(fd, bytes(200 << i % 8), i * 100_000); time.sleep(0.001)
    for i in range(100): os.pread(fd, 4096, i * 100_000)
    os._exit(0)
os.wait()
with h5py.File(path, "w") as file:
    file["</script>"] = np.arange(100_000)
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "<").mkdir()
    done = trace(folder / "t.root", sys.executable, "-c", PROGRAM, folder / "</script>.h5")
    assert done.done.returncode == 0, done.said
    return done.path


def drawn(page: Path, *options: object) -> str:
    """What a browser without a network makes of it, as HTML."""
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'browser'}"]
    command += [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=5000",
        *map(str, options),
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_browser_draws_all_of_it(tmp_path: Path, traced: Path) -> None:
    page = tmp_path / "page.html"
    done = subprocess.run([THALWEG, "explain", traced, "--html", page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    html = drawn(page, "--dump-dom")
    assert "data-error" not in html
    assert 'data-drawn="all"' in html
    verdict = explain(str(traced))
    shown = pictures(verdict)
    assert html.count('class="bar"') == 2 * (len(shown["bytes"]) + len(shown["sizes"]))
    assert html.count('class="cell"') == sum(len(lane["cells"]) for lane in shown["timeline"]["lanes"]) > 20
    assert html.count('class="place"') == sum(len(each["cells"]) for each in shown["maps"]) > 200
    assert html.count('class="finding"') == len(verdict.findings) > 0
    assert "rank" not in shown["bytes"][0]["name"]


def test_a_browser_draws_what_thalweg_did_itself(tmp_path: Path) -> None:
    script = "import sys, thalweg as tw, numpy as np\nwith tw.create(sys.argv[1], {'t': {'x': tw.float64}}, "
    script += "tuning={'engine': 'threads'}) as out: out.producer('t').append(x=np.random.normal(size=1_000_000))"
    done = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path / "run.h5")
    if b"direct I/O" in done.done.stderr:
        pytest.skip("this file system has no direct I/O")
    page = tmp_path / "page.html"
    subprocess.run([THALWEG, "explain", done.path, "--html", page], check=True, capture_output=True)
    html = drawn(page, "--dump-dom")
    assert "data-error" not in html
    assert 'data-drawn="all"' in html
    shown = pictures(explain(str(done.path)))
    assert html.count('class="cell"') == sum(len(lane["cells"]) for lane in shown["timeline"]["lanes"])
    assert ">async writes</text>" in html
    assert "own work of Thalweg: " in html
    assert 'fill="undefined"' not in html  # every kind has its colour


def test_a_page_loads_nothing(traced: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    subprocess.run([THALWEG, "explain", traced, "--html", page], check=True, capture_output=True)
    text = page.read_text()
    assert not re.search(r"(src|href)\s*=|@import|url\(", text)
    assert set(re.findall(r"https?://[^\"'\s]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert text.count("</script>") == 2  # those of the page itself


def test_a_page_that_cannot_be_written_is_said(traced: Path, tmp_path: Path) -> None:
    page = tmp_path / "missing" / "page.html"
    done = subprocess.run([THALWEG, "explain", traced, "--html", page], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_pictures_add_up(tmp_path: Path) -> None:
    code = "import time\nfor i in range(100): os.pwrite(fd, bytes(3000), i * 3000)\nos.fsync(fd); time.sleep(0.2)"
    done = trace(tmp_path / "t.root", sys.executable, "-c", START + code, tmp_path / "out")
    verdict = explain(str(done.path))
    shown = pictures(verdict)
    sizes = {each["power"]: each["written"] for each in shown["sizes"]}
    assert sizes[11] == 100  # 2048 bytes or more, less than 4096
    (map_,) = [each for each in shown["maps"] if each["file"] == str(tmp_path / "out")]
    assert (map_["calls"], map_["end"]) == (100, 300_000)
    assert {cell[1] for cell in map_["cells"] if cell[2] == "write"} == set(range(map_["lines"]))
    width = shown["timeline"]["duration_s"] / shown["timeline"]["bins"]
    (account, lane) = max(
        zip(verdict.accounts, shown["timeline"]["lanes"], strict=True), key=lambda each: each[0].written_bytes
    )
    for kind in ("write", "sync"):
        seconds = sum(cell[2] for cell in lane["cells"] if cell[1] == kind) * width
        assert seconds == pytest.approx(account.by_kind[kind], rel=0.3, abs=0.003 * width * 500)


def test_chrome_json_has_every_call_in_its_place(traced: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    done = subprocess.run(
        [THALWEG, "trace", "export", traced, "--out", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    events = [each for each in json.loads(out.read_text())["traceEvents"] if each["ph"] == "X"]
    verdict = explain(str(traced))
    assert len(events) == sum(map(len, verdict.trace.levels.values()))
    assert f"{len(events):,} calls" in done.stdout
    writes = [
        each for each in events if each["name"].startswith("pwrite") and each["args"].get("file", "").endswith(".raw")
    ]
    assert [each["args"]["offset"] for each in writes] == [i * 100_000 for i in range(300)]
    (transfer,) = [each for each in events if each["name"] == "H5Dwrite"]
    inner = [
        each
        for each in events
        if each["cat"] == "posix"
        and (each["pid"], each["tid"]) == (transfer["pid"], transfer["tid"])
        and transfer["ts"] <= each["ts"] <= transfer["ts"] + transfer["dur"]
    ]
    assert sum(each["args"]["result"] for each in inner if "write" in each["name"]) == 800_000


def test_perfetto_reads_the_same_slices(traced: Path, tmp_path: Path) -> None:
    schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    out = tmp_path / "t.pftrace"
    subprocess.run([THALWEG, "trace", "export", traced, "--out", out], check=True, capture_output=True)
    read = schema.Trace()
    read.ParseFromString(out.read_bytes())
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in read.packet
        if packet.HasField("track_descriptor")
    }
    found, stacks = [], {}
    for packet in read.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            assert not stack or stack[-1][1] <= packet.timestamp
            stack.append((event.name, packet.timestamp, len(stack), event.categories[0]))
        else:
            name, begin, depth, level = stack.pop()
            assert begin <= packet.timestamp
            thread = tracks[event.track_uuid].thread
            found.append((thread.pid, thread.tid, begin, packet.timestamp, depth, level, name))
    assert all(not stack for stack in stacks.values())
    json_out = tmp_path / "t.json"
    subprocess.run([THALWEG, "trace", "export", traced, "--out", json_out], check=True, capture_output=True)
    events = [each for each in json.loads(json_out.read_text())["traceEvents"] if each["ph"] == "X"]
    expected = [
        (
            each["pid"],
            each["tid"],
            round(each["ts"] * 1000),
            round((each["ts"] + each["dur"]) * 1000),
            each["cat"],
            each["name"],
        )
        for each in events
    ]
    assert sorted((*each[:4], *each[5:]) for each in found) == sorted(expected)
    assert {each[4] for each in found} >= {0, 1}
    names = [track.process.process_name for track in tracks.values() if track.HasField("process")]
    assert any("python" in name for name in names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "t.root", "more", "--out", "x.json"), "2 traces are given to export"),
        (("export", "missing.root", "--out", "x.json"), "missing.root"),
        (("export", "t.root", "--out", "t.json"), "--force to replace it"),
    ],
)
def test_a_wrong_export_is_refused(traced: Path, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    shutil.copy(traced, tmp_path / "t.root")
    (tmp_path / "t.json").write_text("mine")
    done = subprocess.run([THALWEG, "trace", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "t.json").read_text() == "mine"


def test_a_program_called_export_can_be_traced(tmp_path: Path) -> None:
    program = compile_c(tmp_path, "int main() { return 7; }")
    program.rename(tmp_path / "export")
    done = trace(tmp_path / "t.root", tmp_path / "export")
    assert done.done.returncode == 7
