"""`thalweg serve` as a child process, and requests to it byte by byte."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recording import THALWEG


@dataclass
class Answer:
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes


@dataclass
class Shown:
    url: str
    process: subprocess.Popen[str]

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 0)

    def get(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Answer:
        """Sends the path as it is: a library would tidy it."""
        lines = {"Host": "127.0.0.1", "Connection": "close", **(headers or {})}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with socket.create_connection(self.address, timeout=60) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode())
            with connection.makefile("rb") as stream:
                return answer_of(stream.read())

    def runs(self) -> dict[str, dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}runs.json") as answer:
            return {run["name"]: run for run in json.load(answer)["runs"]}

    def image(self, name: str) -> str:
        """Returns the path of the newest image."""
        answer = self.get(f"/newest/{name}")
        assert answer.status == 307, answer
        return answer.headers["location"]

    def image_url(self, name: str) -> str:
        return self.url.rstrip("/") + self.image(name)


def answer_of(bytes_: bytes) -> Answer:
    head, _, body = bytes_.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(status.split()[1]), headers, body)


@contextlib.contextmanager
def shown(
    place: Path | str, *options: object, command: str = "serve", code: int = 0, said: str = ""
) -> Iterator[Shown]:
    """`said` is in what it says at the end; if it is empty, nothing is said."""
    words = [THALWEG, command, str(place), *map(str, options), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"is shown at (http://\S+)", line)
        assert found, line + process.stderr.read()
        yield Shown(found[1], process)
        if process.poll() is None:  # the test has not killed it
            process.send_signal(signal.SIGTERM)  # SIGINT is ignored in what a shell runs in the background
            _, errors = process.communicate(timeout=60)
            assert process.returncode == code, errors
            assert said in errors if said else errors == "", errors
    finally:
        process.kill()
        process.communicate()
