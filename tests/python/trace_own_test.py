"""What Thalweg says of its own work is in the trace, agrees with the file that it wrote, and `explain` tells it."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracing import THALWEG, Traced, trace

import thalweg as tw
from thalweg._explain.page import pictures
from thalweg._explain.verdict import explain
from thalweg._trace.account import Account
from thalweg._trace.export import track_places
from thalweg._trace.own_work import device_of, places_of, under_way
from thalweg._trace.records import LEVELS, operations
from thalweg._trace.tables import CALL, NAMES
from thalweg._trace.trace_file import load_trace

START = """
import os, sys, threading
import numpy as np
import thalweg as tw
generator = np.random.default_rng(1)
def create(**tuning):
    fields = {"x": tw.float64, "n": tw.uint32}
    return tw.create(sys.argv[1], {"rows": fields}, codec="zstd-1", tuning={"engine": sys.argv[2], **tuning})
def append(producer, rows=200_000):
    for i in range(0, rows, 20_000):
        producer.append(x=generator.normal(size=20_000), n=np.arange(i, i + 20_000, dtype=np.uint32))
"""
ONE = START + "with create() as out: append(out.producer('rows'), 1_000_000)"
FORKED = (
    START
    + """
with create() as out:
    children = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            child = tw.attach(out.handle)
            producer = child.producer("rows")
            append(producer)
            producer.finish()
            os._exit(0)
        children.append(pid)
    threads = [threading.Thread(target=lambda: append(out.producer("rows"))) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    codes = [os.waitpid(pid, 0)[1] for pid in children]
    assert codes == [0, 0, 0], codes
"""
)


def engine(tmp_path: Path, wanted: str) -> str:
    """`wanted`, or a skip with the reason why it does not work here."""
    try:
        tw.create(
            tmp_path / f"try{len(list(tmp_path.iterdir()))}.h5", {"t": {"x": tw.int8}}, tuning={"engine": wanted}
        ).close()
    except tw.Error as error:
        pytest.skip(str(error))
    return wanted


def recorded(tmp_path: Path, script: str, suffix: str, wanted: str, *options: object) -> tuple[Traced, Path]:
    file = tmp_path / f"run{suffix}"
    command = (sys.executable, "-c", script, file, engine(tmp_path, wanted))
    traced = trace(tmp_path / "t.root", *command, options=options)
    assert traced.done.returncode == 0, traced.said
    return traced, file


def named(calls: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [call for call in calls if call["name"] == name]


def column_facts(file: Path) -> list[dict[str, Any]]:
    done = subprocess.run([THALWEG, "inspect", "--json", file], capture_output=True, check=True)
    (table,) = json.loads(done.stdout)["tables"]
    return list(table["columns"].values())


def assert_extents_are_apart(claims: list[dict[str, Any]], size_bytes: int) -> None:
    ranges = sorted((call["result"], call["result"] + call["size"]) for call in claims)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ranges))
    assert ranges[0][0] >= 0
    assert ranges[-1][0] < size_bytes


@pytest.mark.parametrize("wanted", ["posix", "threads", "uring"])
@pytest.mark.parametrize("suffix", [".root", ".h5"])
def test_pages_extents_and_writes_are_those_of_the_file(tmp_path: Path, suffix: str, wanted: str) -> None:
    traced, file = recorded(tmp_path, ONE, suffix, wanted)
    calls = traced.calls("work", of=f"/run{suffix}")
    encoded, claims, writes = (named(calls, name) for name in ("encode_page", "claim_extent", "write_in_flight"))
    rest_bytes = 0  # of what fills no page: encoded as the file is completed, which is one piece of work
    for number, column in enumerate(column_facts(file)):
        mine = [call for call in encoded if call["extra"] == number]
        assert 0 <= column["pages"] - len(mine) <= 1
        assert 0 < sum(call["size"] for call in mine) <= column["raw_bytes"]
        rest_bytes += column["raw_bytes"] - sum(call["size"] for call in mine)
        stored = sum(call["result"] for call in mine)
        assert stored <= column["stored_bytes"] <= stored + rest_bytes
        assert stored == column["stored_bytes"] or len(mine) < column["pages"]
    assert len(encoded) > 10
    assert_extents_are_apart(claims, file.stat().st_size)
    extents = {(call["result"], call["size"]) for call in claims}
    if wanted == "posix":  # whose writes are calls
        assert writes == []
        made = {
            (call["offset"], call["result"]) for call in traced.calls(of=f"/run{suffix}") if "write" in call["name"]
        }
        assert extents <= made
    else:
        assert {(call["offset"], call["size"]) for call in writes} == extents
        assert {call["extra"] for call in writes} == {1 if wanted == "uring" else 2}
    assert len(named(calls, "complete_file")) == 1
    assert named(calls, "complete_file")[0]["size"] == file.stat().st_size
    assert len(named(calls, "sync_data")) == len(
        [call for call in traced.calls(of=f"/run{suffix}") if call["name"] == "fdatasync"]
    )


@pytest.mark.parametrize("suffix", [".root", ".h5"])
def test_threads_and_processes_of_a_run_each_say_their_own(tmp_path: Path, suffix: str) -> None:
    traced, file = recorded(tmp_path, FORKED, suffix, "threads")
    calls = traced.calls("work", of=f"/run{suffix}")
    claims, encoded = named(calls, "claim_extent"), named(calls, "encode_page")
    assert len({call["process"] for call in encoded}) == 4
    assert len({call["thread"] for call in encoded}) >= 5  # and the one that closes the run, if rows are left
    assert_extents_are_apart(claims, file.stat().st_size)
    assert {(c["offset"], c["size"]) for c in named(calls, "write_in_flight")} == {
        (c["result"], c["size"]) for c in claims
    }
    assert len({call["process"] for call in named(calls, "write_journal")}) == 1  # the committer's
    assert sum(column["raw_bytes"] for column in column_facts(file)) == 5 * 200_000 * 12
    own = [each for each in explain(str(traced.path)).accounts if each.own_work]
    assert len(own) == 4
    assert sum(each.device.writes for each in own if each.device) == len(claims)


def test_children_that_are_forked_while_threads_begin_are_traced(tmp_path: Path) -> None:
    """A thread of the parent may be about to be traced at the moment of the fork; it does not exist in the child."""
    script = """
import os, sys, threading
def write(name):
    fd = os.open(os.path.join(sys.argv[1], name), os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"x")
    os.close(fd)
for number in range(40):
    threads = [threading.Thread(target=write, args=(f"thread{number}-{i}",)) for i in range(4)]
    for thread in threads: thread.start()
    pid = os.fork()
    if pid == 0:
        write(f"child{number}")
        os._exit(0)
    os.waitpid(pid, 0)
    for thread in threads: thread.join()
"""
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, tmp_path)
    assert traced.done.returncode == 0, traced.said
    for number in range(40):
        assert [call["name"] for call in traced.calls(of=f"/child{number}") if call["name"] == "write"], number


def test_what_a_killed_process_was_doing_is_there(tmp_path: Path) -> None:
    # No process commits while the parent is stopped, so the child's claims wait for space that is never allocated.
    script = (
        START
        + """
import signal, time
out = create(extent_bytes=1 << 20)
out.producer("rows")
parent = os.getpid()
if os.fork() == 0:
    producer = tw.attach(out.handle).producer("rows")
    print("ready", flush=True)
    os.kill(parent, signal.SIGSTOP)
    while True: append(producer)
time.sleep(60)
"""
    )
    out = tmp_path / "t.root"
    words = [THALWEG, "trace", "--out", out, "--", sys.executable, "-c", script, tmp_path / "run.h5", "posix"]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        below = children_of(process.pid)
        time.sleep(3)
        for pid in below:
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)
    verdict = explain(str(out))
    begun = {verdict.trace.operations[each["operation"]]["name"] for each in verdict.trace.unfinished}
    assert {"claim_extent", "wait_for_space"} <= begun, begun
    assert any("ended inside wait_for_" in line and line.endswith("run.h5") for line in verdict.lines())
    assert named(Traced(subprocess.CompletedProcess([], 0), out).calls("work"), "encode_page")


def children_of(pid: int) -> list[int]:
    found = [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [each for child in found for each in (child, *children_of(child))]


def test_explain_splits_the_time_of_a_recording(tmp_path: Path) -> None:
    traced, _ = recorded(tmp_path, ONE, ".h5", "threads")
    verdict = explain(str(traced.path))
    account = own_account(verdict.accounts)
    calls = traced.calls("work")
    work = {each.name: each for each in account.own_work}
    # Nothing is within the encoding of a page.
    assert work["encode_page"].seconds == pytest.approx(
        sum(c["duration"] for c in named(calls, "encode_page")) * 1e-8, rel=1e-6
    )
    assert work["encode_page"].bytes == sum(c["size"] for c in named(calls, "encode_page"))
    assert account.by_kind["encode"] == pytest.approx(work["encode_page"].seconds)
    assert account.by_level["work"] == pytest.approx(sum(each.seconds for each in account.own_work))
    assert account.device is not None
    assert account.device.busy_s <= account.elapsed_s
    assert account.device.busy_s * account.device.at_once == pytest.approx(
        account.device.writes * account.device.mean_s, rel=1e-3
    )
    said = subprocess.run([THALWEG, "explain", traced.path], capture_output=True, text=True, check=True).stdout
    assert "own work of Thalweg: " in said
    assert f"encode_page {work['encode_page'].seconds:.3g} s ({work['encode_page'].count:,} of " in said
    assert f"asynchronous writes: {account.device.writes:,} (" in said


def own_account(accounts: list[Account]) -> Account:
    (found,) = [each for each in accounts if each.own_work]
    return found


def test_one_level_alone_and_all_but_it(tmp_path: Path) -> None:
    traced, _ = recorded(tmp_path, ONE, ".h5", "threads", "--level", "work")
    assert traced.report()["levels"] == ["work"]
    assert traced.report()["calls"]["posix"] == 0 < traced.report()["calls"]["work"]
    (tmp_path / "run.h5").unlink()
    traced, _ = recorded(tmp_path, ONE, ".h5", "threads", "--level", "posix", "--force")
    assert traced.report()["calls"]["work"] == 0 < traced.report()["calls"]["posix"]
    assert all(call["depth"] == 0 for call in traced.calls(of="/run.h5"))


def test_timelines_show_writes_that_were_under_way(tmp_path: Path) -> None:
    traced, _ = recorded(tmp_path, ONE, ".h5", "threads")
    out = tmp_path / "t.json"
    subprocess.run([THALWEG, "trace", "export", traced.path, "--out", out], check=True, capture_output=True)
    events = json.loads(out.read_text())["traceEvents"]
    writes = [each for each in events if each["ph"] == "X" and each["name"] == "write_in_flight"]
    assert len(writes) == len(named(traced.calls("work"), "write_in_flight")) > 3
    by_line: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for each in writes:
        by_line.setdefault((each["pid"], each["tid"]), []).append((each["ts"], each["ts"] + each["dur"]))
    for ranges in by_line.values():
        ranges.sort()
        assert all(end <= begin + 0.001 for (_, end), (begin, _) in itertools.pairwise(ranges))
    names = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert "writes under way 1" in names
    perfetto = tmp_path / "t.pftrace"
    subprocess.run([THALWEG, "trace", "export", traced.path, "--out", perfetto], check=True, capture_output=True)
    assert perfetto.read_bytes().count(b"writes under way") == len(list(track_places(load_trace(str(traced.path)))))


def test_a_place_in_the_queue_has_one_write_at_a_time(tmp_path: Path) -> None:
    traced, _ = recorded(tmp_path, ONE, ".h5", "threads")
    writes = load_trace(str(traced.path)).in_flight
    seconds = {"start": np.array([0.0, 1.0, 1.5, 3.0]), "duration": np.array([2.0, 1.0, 1.0, 1.0])}
    times = {name: values * 10**8 for name, values in seconds.items()}  # the unit of the trace is 10 ns
    some = writes.where(np.arange(4))
    some = some.replaced(**times)
    assert places_of(some).tolist() == [0, 1, 2, 0]
    at, count = under_way(some)
    assert list(zip(at.tolist(), count.tolist(), strict=True))[:3] == [(0.0, 1), (1.0, 2), (1.5, 3)]
    device = device_of(some)
    assert device is not None
    assert (device.writes, device.most_at_once, device.longest_s, device.busy_s) == (4, 3, 2.0, 3.5)
    assert device.at_once == pytest.approx(5.0 / 3.5)


def test_traces_from_before_have_no_such_table(tmp_path: Path) -> None:
    old = tmp_path / "old.root"
    call = {**CALL, "gap": tw.int64(unit="10 ns"), "duration": tw.int64(unit="10 ns")}
    with tw.create(old, {**dict.fromkeys(LEVELS[:4], call), **NAMES}) as out:
        known = [each for each in operations() if each.level < 4]
        out.producer("operations").append(
            name=[each.name for each in known],
            level=[LEVELS[each.level] for each in known],
            kind=[each.kind for each in known],
        )
        out.producer("files").append(path=["", "/x"], kind=["", "file"])
        process = {"pid": 7, "parent_pid": 1, "rank": -1, "is_forked": 0, "read_seen": 0, "written_seen": 4096}
        texts = {"command": ["", "x"], "executable": ["", "/x"], "cores": ["", "0"]}
        out.producer("processes").append(**{name: [0, value] for name, value in process.items()}, **texts)
        write = next(i for i, each in enumerate(known) if each.name == "write")
        values = {
            "operation": write,
            "file": 1,
            "process": 1,
            "rank": -1,
            "duration": 100,
            "size": 4096,
            "result": 4096,
        }
        out.producer("posix").append(**{name: [values.get(name, 0)] for name in CALL})
        nothing = {"first_line": "", "command": [], "coverage": {}, "dropped": {}, "failed_rings": 0, "untraced": []}
        out.set_metadata("trace", json.dumps(nothing))
    verdict = explain(str(old))
    (account,) = verdict.accounts
    assert (account.written_bytes, account.own_work, account.device) == (4096, [], None)
    assert verdict.trace.recorded == LEVELS[:4]


@pytest.mark.parametrize("suffix", [".root", ".h5"])
def test_the_page_shows_work_and_writes(tmp_path: Path, suffix: str) -> None:
    traced, _ = recorded(tmp_path, ONE, suffix, "threads")
    verdict = explain(str(traced.path))
    account = own_account(verdict.accounts)
    shown = pictures(verdict)
    lane, writes = shown["timeline"]["lanes"]
    assert writes["name"] == "async writes"
    assert {"encode", "commit", "in flight"} <= set(shown["timeline"]["kinds"])
    width = shown["timeline"]["duration_s"] / shown["timeline"]["bins"]
    assert account.device is not None
    drawn = sum(share for _, _, share, _ in writes["cells"]) * width * account.device.most_at_once
    assert drawn == pytest.approx(account.device.writes * account.device.mean_s, rel=0.02)
    threads = len({call["thread"] for level in ("posix", "stdio", "hdf5", "work") for call in traced.calls(level)})
    encoded = sum(share for _, kind, share, _ in lane["cells"] if kind == "encode") * width * threads
    assert encoded == pytest.approx(account.by_kind["encode"], rel=0.3, abs=0.003 * width * 500 * threads)
    (told,) = shown["own_work"]
    assert any(text.startswith("own work of Thalweg: ") for text in told["sentences"])


@pytest.mark.parametrize("suffix", [".root", ".h5"])
def test_pages_that_are_read_are_told(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"run{suffix}"
    subprocess.run([sys.executable, "-c", ONE, file, "posix"], check=True)
    script = "import sys, thalweg as tw; print(len(tw.open(sys.argv[1])['rows'].read()['x']))"
    traced = trace(tmp_path / "t.root", sys.executable, "-c", script, file)
    assert traced.done.stdout == b"1000000\n", traced.said
    decoded = named(traced.calls("work", of=file.name), "decode_page")
    columns = column_facts(file)
    # If threads take parts of a column, two neighbours both need the page between them.
    for count, wanted in (
        (len(decoded), sum(column["pages"] for column in columns)),
        (sum(call["size"] for call in decoded), sum(column["stored_bytes"] for column in columns)),
        (sum(call["result"] for call in decoded), sum(column["raw_bytes"] for column in columns)),
    ):
        assert wanted <= count <= 1.2 * wanted
    assert own_account(explain(str(traced.path)).accounts).by_kind["decode"] > 0
