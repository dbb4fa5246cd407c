"""A real browser, told what to do through its debugging port."""

import base64
import contextlib
import itertools
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import needed
from websockets.sync.client import ClientConnection, connect

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def browser() -> str:
    return needed.program(*BROWSERS)


class Tab:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": given}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["params"]["exceptionDetails"])[:500])
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(event["params"]["entry"]["text"])

    def open(self, url: str, width: int = 1400, height: int = 900, scheme: str = "light") -> None:
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)

    def value(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, expression: str, within_s: float = 60) -> Any:
        end = time.monotonic() + within_s
        while not (found := self.value(expression)):
            assert time.monotonic() < end, f"{expression} is not true; the browser says {self.complaints}"
            time.sleep(0.05)
        return found

    def screenshot(self, path: Path, whole: bool = True) -> None:
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(picture["data"]))


@contextlib.contextmanager
def tab(profile: Path) -> Iterator[Tab]:
    words = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0", "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    try:
        port = profile / "DevToolsActivePort"
        end = time.monotonic() + 60
        while not (port.exists() and port.read_text().count("\n")):
            assert time.monotonic() < end, "the browser does not start"
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as answer:
            pages = [each for each in json.load(answer) if each["type"] == "page"]
        with connect(pages[0]["webSocketDebuggerUrl"], compression=None, max_size=None) as socket:
            yield Tab(socket)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
