"""`thalweg record --source raw`: rows of other programs, through files, pipes and sockets, read by stock readers."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from raw_rows import (
    DTYPE,
    ROW,
    Hits,
    check_dtype,
    connect,
    free_port,
    read_dtype,
    recording_rows,
    rows_of_dtype,
)
from recording import THALWEG, kill_with_workers, record, wait_for

import thalweg as tw
from thalweg._raw.settings import raw_settings

ROWS = 3000


def counters(report: dict[str, Any], table: str = "events") -> dict[str, int]:
    return dict(report["channels"][table])


def ended(process: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return dict(json.loads(out))


@pytest.fixture(scope="module")
def hits() -> Hits:
    return Hits(500)


@pytest.fixture
def row_file(tmp_path: Path) -> Path:
    path = tmp_path / "row.toml"
    path.write_text(ROW)
    return path


@pytest.mark.parametrize("name", ["rows.h5", "rows.root"])
def test_rows_of_a_dtype_come_through_a_pipe(name: str, tmp_path: Path) -> None:
    rows = rows_of_dtype(ROWS)
    words = [THALWEG, "record", "--source", "raw", "--input", "-", "--row", DTYPE, "--out", name, "--quiet", "--json"]
    done = subprocess.run(words, input=rows.tobytes(), capture_output=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    check_dtype(tmp_path / name, rows)
    assert json.loads(done.stdout)["ended_by"] == "source"
    metadata = tw.open(tmp_path / name).metadata
    assert (metadata["source"], json.loads(metadata["source_settings"])["input"]) == ("raw", "standard input")


@pytest.mark.parametrize("name", ["hits.h5", "hits.root"])
def test_rows_of_every_kind_of_field_are_what_struct_packed(
    name: str, tmp_path: Path, hits: Hits, row_file: Path
) -> None:
    (tmp_path / "hits.dat").write_bytes(b"".join(hits.rows))
    report = record(tmp_path / name, "--source", "raw", "--input", tmp_path / "hits.dat", "--row", row_file)
    assert report["rows"] == hits.count
    assert report["problems"] == report["notes"] == []
    hits.check(tmp_path / name)
    assert tw.open(tmp_path / name)["hits"]["energy"].type.unit == "keV"


def test_garbage_cut_rows_and_lengths_that_lie_are_counted(tmp_path: Path, hits: Hits, row_file: Path) -> None:
    rows = hits.rows
    lie = bytearray(rows[30])
    lie[36:38] = b"\xff\xff"  # its length: 65,535 bytes, into the rows behind it
    sent = [b"noise", *rows[:10], b"#" * 1000, *rows[10:20], rows[20][:17], *rows[21:30], bytes(lie), *rows[31:]]
    (tmp_path / "hits.dat").write_bytes(b"".join(sent))
    arguments = ("--source", "raw", "--input", tmp_path / "hits.dat", "--row", row_file)
    report = record(tmp_path / "hits.h5", *arguments, code=1)
    # The length of row 9 leads into garbage: no other row vouches for it.
    kept = [*range(9), *range(10, 20), *range(21, 30), *range(31, hits.count)]
    hits.check(tmp_path / "hits.h5", kept)
    found = counters(report, "hits")
    assert found["garbage_bytes"] == 1005 + len(rows[9])
    assert found["bad_lengths"] == 1
    assert found["cut_rows"] == 2
    assert found["lost_triggers"] == 3
    said = "\n".join(report["problems"])
    assert "bytes between rows belong to no row" in said
    assert "2 rows were cut" in said
    assert "3 rows are missing by their sequence numbers" in said
    report = record(tmp_path / "hits.root", *arguments, "--allow-missing")
    hits.check(tmp_path / "hits.root", kept)


def test_what_is_left_out_is_said_once_while_the_run_goes_on(tmp_path: Path, hits: Hits, row_file: Path) -> None:
    arguments = ("--input", "-", "--row", row_file)
    with recording_rows(tmp_path / "hits.h5", *arguments, stdin=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        bytes_in = process.stdin.buffer  # type: ignore[attr-defined]
        bytes_in.write(b"".join([*hits.rows[:10], b"#" * 1000, *hits.rows[10:20]]))
        bytes_in.flush()
        said = ""
        while "bytes between rows belong to no row" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        assert process.poll() is None
        bytes_in.write(b"".join([b"#" * 500, *hits.rows[20:]]))
        out, err = process.communicate(timeout=120)
    report = json.loads(out)
    assert counters(report, "hits")["garbage_bytes"] > 1500
    (problem,) = [each for each in report["problems"] if "belong to no row" in each]
    assert err.count("belong to no row") == 1  # the sum, at the end
    assert f"{counters(report, 'hits')['garbage_bytes']} bytes" in problem


def test_an_input_that_ends_within_a_row_keeps_the_rows_before_it(tmp_path: Path) -> None:
    rows = rows_of_dtype(ROWS)
    (tmp_path / "rows.dat").write_bytes(rows.tobytes()[:-5])
    report = record(tmp_path / "rows.h5", "--source", "raw", "--input", tmp_path / "rows.dat", "--row", DTYPE, code=1)
    check_dtype(tmp_path / "rows.h5", rows[:-1])
    left = rows.itemsize - 5
    assert f"it ended within a row: {left} bytes are left over" in report["problems"][0]
    assert counters(report)["left_over_bytes"] == left


def test_a_sync_word_that_does_not_fit_is_said(tmp_path: Path, hits: Hits, row_file: Path) -> None:
    row_file.write_text(ROW.replace('byte-order = "big"', 'byte-order = "little"'))
    (tmp_path / "hits.dat").write_bytes(b"".join(hits.rows))
    report = record(
        tmp_path / "hits.h5", "--source", "raw", "--input", tmp_path / "hits.dat", "--row", row_file, code=1
    )
    assert report["rows"] == 0
    assert "look at the sync word and its byte order" in report["problems"][0]


def test_a_length_that_lies_without_a_sync_word_ends_the_run(tmp_path: Path) -> None:
    row = tmp_path / "row.toml"
    row.write_text(
        'max-row-bytes = 1000\nfield = [{name = "n", type = "uint16", role = "length"}, '
        '{name = "v", type = "uint8", shape = "length"}]\n'
    )
    (tmp_path / "rows.dat").write_bytes(b"\2\0ab\0\0\1\0c\xff\xffxyz")
    report = record(tmp_path / "rows.h5", "--source", "raw", "--input", tmp_path / "rows.dat", "--row", row, code=1)
    assert "table 'events', field 'n' is 65535" in report["problems"][0]
    assert [bytes(each) for each in tw.open(tmp_path / "rows.h5")["events"].read()["v"]] == [b"ab", b"", b"c"]


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    rows = rows_of_dtype(ROWS)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(rows.tobytes(),))
    writer.start()
    record(tmp_path / "rows.h5", "--source", "raw", "--input", tmp_path / "pipe", "--row", DTYPE)
    writer.join()
    check_dtype(tmp_path / "rows.h5", rows)


def test_a_server_that_resets_is_connected_again(tmp_path: Path, hits: Hits, row_file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with recording_rows(tmp_path / "hits.h5", "--input", f"tcp://127.0.0.1:{port}", "--row", row_file) as recorder:
            first, _ = server.accept()
            first.sendall(b"".join(hits.rows[:100]) + hits.rows[100][:9])
            wait_for(lambda: _rows(tmp_path / "hits.h5", "hits") == 100)  # a reset drops what was not read
            first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            first.close()
            second, _ = server.accept()
            with second:
                second.sendall(b"".join(hits.rows[101:]))
            report = ended(recorder, code=1)
    hits.check(tmp_path / "hits.h5", [*range(100), *range(101, hits.count)])
    assert counters(report, "hits")["reconnects"] == 1
    assert counters(report, "hits")["cut_rows"] == 1
    assert any("it was connected again 1 times" in note for note in report["notes"])


def _rows(path: Path, table: str) -> int:
    try:
        return len(tw.open(path)[table])
    except (tw.Error, OSError):  # it is not there yet
        return 0


def test_a_listener_takes_one_sender_at_a_time(tmp_path: Path) -> None:
    rows, port = rows_of_dtype(ROWS), free_port()
    address = f"listen:{port}?reconnect=always"
    with recording_rows(tmp_path / "rows.h5", "--input", address, "--row", DTYPE) as recorder:
        first = connect(port)
        first.sendall(rows[:1000].tobytes())
        wait_for(lambda: _rows(tmp_path / "rows.h5", "events") == 1000)
        with connect(port) as second:
            assert second.recv(1) == b""  # refused
        first.sendall(rows[1000:2000].tobytes())
        first.close()
        with connect(port) as third:
            third.sendall(rows[2000:].tobytes())
            wait_for(lambda: _rows(tmp_path / "rows.h5", "events") == ROWS)
        recorder.send_signal(signal.SIGINT)
        report = ended(recorder)
    check_dtype(tmp_path / "rows.h5", rows)
    assert counters(report)["refused_connections"] == 1
    assert counters(report)["reconnects"] == 1
    assert report["ended_by"] == "signal"


@pytest.mark.skipif(not shutil.which("socat"), reason="socat is not installed")
def test_socat_sends_to_a_unix_socket(tmp_path: Path) -> None:
    rows = rows_of_dtype(ROWS)
    (tmp_path / "rows.dat").write_bytes(rows.tobytes())
    with subprocess.Popen(["socat", "-u", "FILE:rows.dat", "UNIX-LISTEN:socket"], cwd=tmp_path):
        wait_for((tmp_path / "socket").exists)
        record(tmp_path / "rows.h5", "--source", "raw", "--input", f"unix:{tmp_path}/socket", "--row", DTYPE)
    check_dtype(tmp_path / "rows.h5", rows)


def test_datagrams_are_rows_and_those_of_strangers_are_not(tmp_path: Path) -> None:
    rows, port = rows_of_dtype(200), free_port(socket.SOCK_DGRAM)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as instrument,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        for each in (instrument, stranger):
            each.bind(("127.0.0.1", 0))
        address = f"udp://127.0.0.1:{port}?peer=127.0.0.1:{instrument.getsockname()[1]}&buffer=1TB"
        with recording_rows(tmp_path / "rows.h5", "--input", address, "--row", DTYPE) as recorder:
            wait_for(lambda: _is_bound(port))
            for first in range(0, 200, 4):
                stranger.sendto(rows[:1].tobytes(), ("127.0.0.1", port))
                instrument.sendto(rows[first : first + 4].tobytes(), ("127.0.0.1", port))
            instrument.sendto(b"no row", ("127.0.0.1", port))
            wait_for(lambda: _rows(tmp_path / "rows.h5", "events") == 200)
            recorder.send_signal(signal.SIGINT)
            report = ended(recorder, code=1)
    check_dtype(tmp_path / "rows.h5", rows)
    found = counters(report)
    assert (found["strangers"], found["bad_datagrams"], found["lost_by_kernel"]) == (50, 1, 0)
    assert "1 datagrams do not hold whole rows" in report["problems"][0]
    assert any("the kernel gave a receive buffer of" in note for note in report["notes"])


def _is_bound(port: int) -> bool:
    local = f"0100007F:{port:04X}"
    return any(line.split()[1] == local for line in Path("/proc/net/udp").read_text().splitlines()[1:])


def test_a_killed_recorder_leaves_all_rows_that_it_took_from_a_pipe(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    rows = rows_of_dtype(20_000)
    with recording_rows(
        tmp_path / "rows.h5", "--input", "-", "--row", DTYPE, "--flush-interval", "50ms", stdin=reading
    ) as recorder:
        os.close(reading)

        def send() -> None:
            with os.fdopen(writing, "wb", buffering=0) as pipe:
                try:
                    while True:
                        pipe.write(rows.tobytes())
                except BrokenPipeError:
                    pass

        sender = threading.Thread(target=send)
        sender.start()
        wait_for(lambda: _rows(tmp_path / "rows.h5", "events") > 30_000)
        seen = _rows(tmp_path / "rows.h5", "events")
        kill_with_workers(recorder)
        sender.join(60)  # its pipe is closed: no process keeps it open
        assert not sender.is_alive()
    report = tw.recover(tmp_path / "rows.h5")
    found = read_dtype(tmp_path / "rows.h5")
    assert report.rows == len(found["timestamp"]) >= seen
    assert (found["timestamp"] == [i % 20_000 for i in range(report.rows)]).all()
    assert (found["samples"][:, 63] == (found["timestamp"] + 63)).all()


WRONG: list[tuple[str, Callable[[str], str], list[str]]] = [
    ("a key", lambda row: row.replace("role =", "rolle =", 1), ["field 1 ('sync')", "'rolle'", "did you mean 'role'?"]),
    ("a type", lambda row: row.replace("uint10", "unit10"), ["field 5 ('low')", "'unit10'", "did you mean 'uint10'?"]),
    ("a role", lambda row: row.replace('"sequence"', '"sequnce"'), ["field 2 ('number')", "did you mean 'sequence'?"]),
    ("an order", lambda row: row.replace('"big"', '"bigg"', 1), ["did you mean 'big'?"]),
    ("bits", lambda row: row.replace("0-4", "4-0"), ["field 4 ('word'), bits 'channel'", '"0-4"']),
    ("too many bits", lambda row: row.replace('"31"', '"32"'), ["table 'hits', field 'word'", "bits 'flag'"]),
    ("a shape", lambda row: row.replace("[2, 4]", "[2, 0]"), ["field 5 ('low')", "shape"]),
    ("a foreign key", lambda row: row.replace("scale = 8", "value = 8"), ["field 3 ('time')", "role 'sync'"]),
    ("a name", lambda row: row.replace('name = "high"', 'name = "low"'), ["low"]),
    ("no sync value", lambda row: row.replace("value = ", "# "), ["field 1 ('sync')", "no 'value'"]),
    ("no TOML", lambda row: row + "[[", ["is not TOML"]),
    ("a table's key", lambda row: "tabel = 'x'\n" + row, ["did you mean 'table'?"]),
]


@pytest.mark.parametrize(("spoil", "said"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_wrong_row_file_is_refused_by_file_and_field(
    spoil: Callable[[str], str], said: list[str], row_file: Path
) -> None:
    row_file.write_text(spoil(ROW))
    with pytest.raises(tw.UsageError) as refused:
        raw_settings(str(row_file), str(row_file))
    for words in said:
        assert words in str(refused.value)
    if "table '" not in str(refused.value):
        assert str(row_file) in str(refused.value)


@pytest.mark.parametrize(
    ("input_", "row", "said"),
    [
        ("", DTYPE, "--input"),
        ("in", "", "--row"),
        ("nowhere", DTYPE, "nowhere cannot be read"),
        (".", DTYPE, "it is a folder"),
        ("http://h:1", DTYPE, "http://"),
        ("udp://h:1?per=x", DTYPE, "did you mean 'peer'"),
        ("in", "[('a','<u9')]", "is no dtype"),
        ("in", "[('a','S8')]", "field 'a' has the type"),
        ("in", "[('a','<f2')]", "field 'a' has the type"),
        ("in", "[('a',[('b','<u2')])]", "field 'a' has the type"),
        ("in", "row.txt", "cannot read row.txt"),
    ],
)
def test_a_wrong_input_or_row_is_refused(
    input_: str, row: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tw.UsageError) as refused:
        raw_settings(input_, row)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--channels", "3"], "--channels cannot be given with --source raw"), (["--row", "[('a','<u9')]"], "no dtype")],
)
def test_nothing_is_written_if_the_request_is_wrong(
    more: list[str], said: str, tmp_path: Path, thalweg_command
) -> None:
    (tmp_path / "in").touch()
    words = ["record", "--source", "raw", "--input", tmp_path / "in", "--row", DTYPE, "--out", tmp_path / "run.h5"]
    done = thalweg_command(*words, *more)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "run.h5").exists()


def test_a_dtype_with_gaps_leaves_them_out(tmp_path: Path) -> None:
    import numpy as np

    text = "{'names': ['a', 'b'], 'formats': ['<u2', '>i4'], 'offsets': [1, 5], 'itemsize': 12}"
    rows = np.zeros(100, np.dtype(eval(text)))
    rows["a"], rows["b"] = np.arange(100), -np.arange(100)
    (tmp_path / "rows.dat").write_bytes(rows.tobytes())
    record(tmp_path / "rows.h5", "--source", "raw", "--input", tmp_path / "rows.dat", "--row", text)
    check_dtype(tmp_path / "rows.h5", rows)
