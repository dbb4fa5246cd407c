"""A real API server of Kubernetes with its etcd, on ports of this machine, in one folder, and `kubectl` for it."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from readout_programs import Program, free_ports

BIN = Path(sys.executable).parent
TOKEN = "a-token-for-this-test"
READY_S = 180


def needed(path: Path, suggestion: str) -> Path:
    """Returns the path, and fails if nothing is there: `make check-deploy` leaves nothing out."""
    assert path.exists(), f"{path} is not there: {suggestion}"
    return path


class Cluster:
    """Begins with the constructor, and ends with `close`. Its data, keys and logs are all in `folder`."""

    def __init__(self, folder: Path, built: Path) -> None:
        self._folder = folder
        client, peer, secure = free_ports(3)
        self._url = f"https://127.0.0.1:{secure}"
        self._programs: list[Program] = []
        etcd = needed(BIN / "etcd", "run `make check-deploy`, which installs it")
        server = needed(built / "kube-apiserver", "run `make check-deploy`, which builds it")
        try:
            self._start(folder / "etcd", etcd, *self._etcd_options(client, peer))
            self._start(folder / "apiserver", server, *self._server_options(client, secure))
            self._wait()
        except BaseException:
            self.close()
            raise

    def _start(self, name: Path, *words: object) -> None:
        self._programs.append(Program(name, *words))

    def _etcd_options(self, client: int, peer: int) -> list[object]:
        mine, others = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        return [
            *("--data-dir", self._folder / "etcd-data", "--unsafe-no-fsync"),
            *("--listen-client-urls", mine, "--advertise-client-urls", mine),
            *("--listen-peer-urls", others, "--initial-advertise-peer-urls", others),
            *("--initial-cluster", f"default={others}"),
        ]

    def _server_options(self, client: int, port: int) -> list[object]:
        key = self._folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (self._folder / "tokens.csv").write_text(f"{TOKEN},tester,1,system:masters\n")
        return [
            *(f"--etcd-servers=http://127.0.0.1:{client}", "--service-cluster-ip-range=10.96.0.0/24"),
            *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={port}"),
            *("--endpoint-reconciler-type=none", f"--cert-dir={self._folder / 'certificates'}"),
            *("--service-account-issuer=https://thalweg.test", f"--service-account-key-file={key}"),
            *(f"--service-account-signing-key-file={key}", f"--token-auth-file={self._folder / 'tokens.csv'}"),
            # No controller makes accounts here, and the one user may do everything.
            *("--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount"),
        ]

    def _wait(self) -> None:
        """Waits until the server is ready, as its own page says."""
        without = ssl._create_unverified_context()
        request = urllib.request.Request(f"{self._url}/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
        end_s = time.monotonic() + READY_S
        while True:
            for each in self._programs:
                assert not each.has_ended, f"it ended:\n{each.said[-3000:]}"
            answering = contextlib.suppress(OSError)
            with answering, urllib.request.urlopen(request, timeout=10, context=without) as answer:
                if answer.status == 200:
                    return
            assert time.monotonic() < end_s, f"not ready after {READY_S} s:\n{self._programs[-1].said[-3000:]}"
            time.sleep(0.2)

    def kubectl(self, *words: object, given: str = "") -> subprocess.CompletedProcess[str]:
        """Runs `kubectl` for this server alone, whatever the user's own configuration says."""
        options = [f"--server={self._url}", f"--token={TOKEN}", "--insecure-skip-tls-verify"]
        options += [f"--cache-dir={self._folder / 'cache'}", "--request-timeout=60s"]
        environment = {**os.environ, "KUBECONFIG": os.devnull, "HOME": str(self._folder)}
        program = [BIN / "kubectl", *options, *map(str, words)]
        return subprocess.run(
            program, input=given, capture_output=True, text=True, check=False, timeout=180, env=environment
        )

    def get(self, *words: object) -> Any:
        done = self.kubectl("get", *words, "--output=json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def close(self) -> None:
        """Ends the server and etcd, which are this test's own, by their process groups."""
        for each in reversed(self._programs):
            each.terminate()
        for each in reversed(self._programs):
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(30)
            each.kill()
