"""Requests to `thalweg serve`: ranges, conditions, tokens, and what bad clients get."""

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from serving import Answer, Shown, answer_of, shown

import thalweg as tw


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "later").mkdir()
    with tw.create(folder / "later" / "closed & done.h5", {"t": {"x": tw.float64}}) as out:
        out.producer("t").append(x=np.random.default_rng(1).random(400_000))  # more than a socket keeps
    shutil.copy(folder / "later" / "closed & done.h5", folder.with_name("outside.h5"))
    (folder / "link.h5").symlink_to(folder.with_name("outside.h5"))
    os.mkfifo(folder / "pipe.h5")
    return folder


@pytest.fixture(scope="module")
def fixed(folder: Path) -> Iterator[tuple[Shown, str, bytes]]:
    """A server, the path of an image of a file that does not change, and its bytes."""
    with shown(folder) as server:
        yield server, server.image("later/closed%20%26%20done.h5"), (folder / "later" / "closed & done.h5").read_bytes()


def read(server: Shown, path: str, ranges: str, **headers: str) -> Answer:
    return server.get(path, {"Range": f"bytes={ranges}", **headers})


def test_ranges(fixed: tuple[Shown, str, bytes]) -> None:
    server, path, bytes_ = fixed
    size = len(bytes_)
    for asked, first, end in [
        ("0-0", 0, 1),
        ("10-99", 10, 100),
        (" 10-99 ,", 10, 100),
        (f"{size - 5}-", size - 5, size),
        ("-7", size - 7, size),
        (f"-{size + 1}", 0, size),
        (f"5-{10**30}", 5, size),
        (f"{size}-,3-4", 3, 5),
    ]:
        answer = read(server, path, asked)
        assert (answer.status, answer.body) == (206, bytes_[first:end]), asked
        assert answer.headers["content-range"] == f"bytes {first}-{end - 1}/{size}"
    for asked in ("5-2", "-0", f"{size}-", f"{size}-{size + 5}", "a-b", "-", "1-2-3", "0x1-2", "", "0-,0-", "-1,5-2"):
        answer = read(server, path, asked)
        assert (answer.status, answer.headers["content-range"]) == (416, f"bytes */{size}"), asked
        assert answer.headers["etag"]
    assert server.get(path, {"Range": "rows=0-1"}).body == bytes_
    head = server.get(path, {"Range": "bytes=0-1"}, "HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(size))
    assert head.headers["accept-ranges"] == "bytes"


def test_several_ranges(fixed: tuple[Shown, str, bytes]) -> None:
    server, path, bytes_ = fixed
    answer = read(server, path, "0-3,100-299, -5")
    assert answer.status == 206
    boundary = answer.headers["content-type"].removeprefix("multipart/byteranges; boundary=").encode()
    begin, *parts, end = answer.body.split(b"\r\n--" + boundary)
    assert (begin, end) == (b"", b"--\r\n")
    found = [answer_of(b"HTTP/1.1 206\r\n" + part.removeprefix(b"\r\n")) for part in parts]
    assert [part.body for part in found] == [bytes_[:4], bytes_[100:300], bytes_[-5:]]
    assert found[1].headers["content-range"] == f"bytes 100-299/{len(bytes_)}"
    assert int(answer.headers["content-length"]) == len(answer.body)


def test_ten_thousand_ranges_are_refused(fixed: tuple[Shown, str, bytes]) -> None:
    server, path, _ = fixed
    assert read(server, path, ",".join(f"{i}-{i}" for i in range(1_001))).status == 416
    assert read(server, path, ",".join(["0-0"] * 10_000)).status in (400, 431)  # more than a line may have
    assert read(server, path, ",".join(f"{i}-{i}" for i in range(0, 400, 2))).status == 206


def test_conditions(fixed: tuple[Shown, str, bytes]) -> None:
    server, path, bytes_ = fixed
    etag = server.get(path, method="HEAD").headers["etag"]
    assert read(server, path, "0-3", **{"If-Range": etag}).status == 206
    for other in ('"other"', f"W/{etag}", "Thu, 26 Nov 2026 09:00:00 GMT"):
        assert read(server, path, "0-3", **{"If-Range": other}).body == bytes_
    for known in (etag, f'"a", W/{etag}', "*"):
        answer = server.get(path, {"If-None-Match": known})
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
    assert server.get(path, {"If-None-Match": '"a"'}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/images/1/run.h5",
        "/images/../../etc/passwd",
        "/newest/../outside.h5",
        "/newest/%2e%2e/outside.h5",
        "/newest/..%2foutside.h5",
        "/newest/later/../../outside.h5",
        "/newest//etc/passwd",
        "/newest/%2fetc/passwd",
        "/newest/link.h5",
        "/newest/pipe.h5",
        "/newest/later",
        "/newest/none.h5",
        "/newest/a%00.h5",
        "/newest/%ff.h5",
        "/newest/" + "a" * 300 + ".h5",
        "/jsroot/modules/gui.mjs",
        "/none",
    ],
)
def test_what_is_not_shown_is_not_found(fixed: tuple[Shown, str, bytes], path: str) -> None:
    answer = fixed[0].get(path)
    assert answer.status == 404, answer
    assert answer.headers["content-type"].startswith("text/plain")


def test_ranges_of_the_newest_image_are_refused(fixed: tuple[Shown, str, bytes]) -> None:
    answer = read(fixed[0], "/newest/later/closed%20%26%20done.h5", "0-3")
    assert answer.status == 400
    assert b"images alone" in answer.body


def test_other_methods_and_broken_requests(fixed: tuple[Shown, str, bytes]) -> None:
    assert fixed[0].get("/", method="POST").status == 405
    with socket.create_connection(fixed[0].address) as connection:
        connection.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
    assert fixed[0].get("/runs.json").status == 200


def test_names_of_others_are_refused(fixed: tuple[Shown, str, bytes]) -> None:
    """A page whose name was made to lead here reads nothing."""
    assert fixed[0].get("/", {"Host": "evil.example.org"}).status == 421
    assert fixed[0].get("/", {"Host": "localhost:1"}).status == 200
    answer = fixed[0].get("/", {"Origin": "https://evil.example.org"})
    assert "access-control-allow-origin" not in answer.headers


def test_an_origin_that_may_read(folder: Path) -> None:
    with shown(folder / "later", "--allow-origin", "https://viewer.example.org") as server:
        path = server.image("closed%20%26%20done.h5")
        answer = read(server, path, "0-3", Origin="https://viewer.example.org")
        assert answer.headers["access-control-allow-origin"] == "https://viewer.example.org"
        assert "Content-Range" in answer.headers["access-control-expose-headers"]
        asked = server.get(path, {"Origin": "https://viewer.example.org"}, "OPTIONS")
        assert (asked.status, asked.headers["access-control-allow-headers"].split(", ")[0]) == (204, "Authorization")
        assert "access-control-allow-origin" not in server.get(path, {"Origin": "https://other.example.org"}).headers


def test_a_token(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("not easy to guess\nmore\n")
    with shown(folder / "later", "--token-file", tmp_path / "token", "--host-name", "daq.example.org") as server:
        known = {"Authorization": "Bearer not easy to guess"}
        for wrong in ({}, {"Authorization": "Bearer not easy"}, {"Cookie": f"thalweg-{server.address[1]}=x"}):
            answer = server.get("/", wrong)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert b"easy" not in answer.body
        path = server.get("/newest/closed%20%26%20done.h5", known).headers["location"]
        assert server.get(path, known).status == 200
        assert server.get(path).status == 401
        assert server.get(f"{path}?token=not%20easy%20to%20guess").status == 200
        page = server.get("/?token=not%20easy%20to%20guess", {"Host": "daq.example.org"})
        cookie, *rules = page.headers["set-cookie"].split("; ")
        assert "HttpOnly" in rules
        assert server.get(path, {"Cookie": cookie}).status == 200


def test_without_a_token_no_other_machine_is_let_in(tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("serve", tmp_path, "--listen", "0.0.0.0:0")
    assert done.returncode == 2
    assert "--token-file" in done.stderr


def test_jsroot_is_shown_from_its_folder(folder: Path, repository: Path) -> None:
    package = repository / "build/jsroot/node_modules/jsroot"
    if not package.exists():
        pytest.skip("JSROOT is not installed; `make test` does it")
    with shown(folder / "later", "--jsroot", package) as server:
        page = server.get("/viewer?file=/images/x").body.decode()
        module = "/jsroot/modules/gui.mjs"
        assert module in page
        answer = server.get(module)
        assert answer.body == (package / "modules/gui.mjs").read_bytes()
        assert "javascript" in answer.headers["content-type"]
        assert server.get("/jsroot/..%2f..%2fpackage.json").status in (403, 404)


def test_clients_that_read_slowly_do_not_stop_others(fixed: tuple[Shown, str, bytes]) -> None:
    server, path, bytes_ = fixed
    memory = memory_bytes(server)
    with contextlib.ExitStack() as connections:
        slow = []
        for _ in range(200):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connections.enter_context(connection).connect(server.address)
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            slow.append(connection)
        for _ in range(200):  # that never end their request
            connections.enter_context(socket.create_connection(server.address)).sendall(b"GET / HT")
        assert all(connection.recv(1) == b"H" for connection in slow)
        for _ in range(20):
            begin = time.monotonic()
            assert server.get(path).body == bytes_
            assert time.monotonic() - begin < 20
        assert all(connection.recv(1) == b"T" for connection in slow)
        assert memory_bytes(server) - memory < 200 << 20
        for _ in range(300):  # more than are let in
            connections.enter_context(socket.create_connection(server.address))
        assert server.get(path).body == bytes_


def memory_bytes(server: Shown) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
