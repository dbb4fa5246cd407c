"""A recording, its page and a browser as processes, and what they take of the machine."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

import thalweg as tw

THALWEG = Path(sys.executable).with_name("thalweg")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: list[int]) -> float:
    """Returns the CPU time of processes, of those of them that still live."""
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def memory_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def largest_memory_bytes(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def of_group(group: int) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            if int(each.name) and int((each / "stat").read_text().rsplit(") ", 1)[1].split()[2]) == group:
                found.append(int(each.name))
    return found


def tree(pid: int) -> list[int]:
    """Returns a process and those that it has started."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            number, fields = int(each.name), (each / "stat").read_text().rsplit(") ", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(number)
    found = [pid]
    for each_pid in found:
        found += children.get(each_pid, [])
    return found


def signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Recorder:
    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid = self._process.pid
        self.is_over = False

    def end(self) -> dict[str, float]:
        """Ends the recording, and returns its CPU a row, with all its processes, and its rows a second."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stdout is not None
        report = json.loads(self._process.stdout.read())
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.is_over = True
        rows = report["rows"]
        return {
            "rows": rows,
            "cpu_us_a_row": (used.ru_utime + used.ru_stime) / rows * 1e6,
            "rows_a_second": rows / report["seconds"],
        }


def has_rows(path: Path) -> bool:
    with contextlib.suppress(tw.Error), tw.open(path) as run:
        return (run.status().rows or 0) > 0
    return False


@contextlib.contextmanager
def recording(path: Path, *options: object) -> Iterator[Recorder]:
    recorder = Recorder([str(THALWEG), "record", "--out", str(path), "--json", *map(str, options)])
    try:
        while not has_rows(path):
            time.sleep(0.1)
        yield recorder
    finally:
        if not recorder.is_over:
            recorder.end()


def recorded(path: Path, *options: object) -> None:
    words = [str(THALWEG), "record", "--out", str(path), "--quiet", *map(str, options)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def watching(path: Path, config: Path, *options: object) -> Iterator[tuple[str, int]]:
    """Yields the address of the page's WebSocket, and the process that serves it."""
    words = [str(THALWEG), "watch", str(path), "--config", str(config), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen([*words, *map(str, options)], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "the page has ended"
            found = re.search(r"http(://[^ ]+/)", line)
        yield f"ws{found[1]}live", process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def viewer(python: str, program: str, url: str) -> Iterator[int]:
    process = subprocess.Popen([python, program, "--view", url], stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


class Tab:
    def __init__(self, socket: ClientConnection, group: int) -> None:
        self._socket, self._group, self._number = socket, group, 0

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": given}))
        while (answer := json.loads(self._socket.recv())).get("id") != self._number:
            pass
        return dict(answer["result"])

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        time.sleep(1)

    def until(self, expression: str) -> Any:
        while (found := self.value(expression)) is None:
            time.sleep(0.1)
        return found

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def costs(self, seconds: float) -> tuple[float, int]:
        """Returns the CPU time of all processes of the browser, and how many updates the page has drawn."""
        drawn = "Number(document.documentElement.dataset.updates ?? 0)"
        updates, begin = self.value(drawn), cpu_s(of_group(self._group))
        time.sleep(seconds)
        return cpu_s(of_group(self._group)) - begin, self.value(drawn) - updates

    def heap_bytes(self) -> int:
        self.call("HeapProfiler.collectGarbage")
        return int(self.call("Runtime.getHeapUsage")["usedSize"])


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    words += ["--window-size=1400,900", "--remote-debugging-port=0", "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    try:
        port = profile / "DevToolsActivePort"
        while not (port.exists() and "\n" in port.read_text()):
            time.sleep(0.1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as answer:
            address = next(each for each in json.load(answer) if each["type"] == "page")["webSocketDebuggerUrl"]
        with connect(address, compression=None, max_size=None) as socket:
            yield Tab(socket, process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
