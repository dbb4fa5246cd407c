"""A real Prometheus (Debian's package) that scrapes programs of ours. It is a judge: nothing of it is ours."""

import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needed
import yaml
from readout_programs import Program, free_ports

DEPLOY = Path(__file__).parents[2] / "deploy" / "grafana"


def installed() -> str:
    return needed.program("prometheus", why=": install Debian's package prometheus")


def hurried(rules: str) -> str:
    """Returns rules that look at seconds where these look at minutes, and that fire at once."""
    return re.sub(r"for: \w+", "for: 0s", re.sub(r"\[\d+m\]", "[8s]", rules))


class Prometheus:
    """Scrapes every second, with the names of jobs that deploy/grafana/prometheus.yml gives."""

    def __init__(self, folder: Path, rules: list[str], **targets: list[str]) -> None:
        given = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
        jobs = {program: f"thalweg-{program}" for program in ("readout", "host", "record")}
        by_name = {job["job_name"]: job for job in given["scrape_configs"]}
        for program, addresses in targets.items():
            by_name[jobs[program]]["static_configs"] = [{"targets": addresses}]
        given["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        given["rule_files"] = []
        for number, text in enumerate(rules):
            path = folder / f"rules{number}.yml"
            path.write_text(text)
            given["rule_files"].append(str(path))
        (folder / "prometheus.yml").write_text(yaml.safe_dump(given))
        self._url = f"http://127.0.0.1:{free_ports(1)[0]}"
        options = ["--web.listen-address", self._url.removeprefix("http://"), "--log.level", "warn"]
        options += ["--config.file", folder / "prometheus.yml", "--storage.tsdb.path", folder / "series"]
        self.program = Program(folder / "prometheus", installed(), *options)

    def ask(self, query: str) -> list[Any]:
        return list(self._get("query", {"query": query})["result"])

    def alerts(self) -> list[dict[str, Any]]:
        return [alert for alert in self._get("alerts", {})["alerts"] if alert["state"] == "firing"]

    def firing(self) -> set[str]:
        return {alert["labels"]["alertname"] for alert in self.alerts()}

    def _get(self, page: str, given: dict[str, str]) -> Any:
        url = f"{self._url}/api/v1/{page}?{urllib.parse.urlencode(given)}"
        end_s = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(url, timeout=60) as answer:
                    return json.load(answer)["data"]
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > end_s:
                    raise AssertionError(f"{given}: {error.read().decode()}") from None
                time.sleep(0.1)
            except OSError:  # it begins
                assert time.monotonic() < end_s
                assert not self.program.has_ended, self.program.said
                time.sleep(0.1)


def wait_until(condition: Callable[[], object], what: Callable[[], object], seconds: float = 180) -> None:
    end_s = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end_s, f"after {seconds} s: {what()}"
        time.sleep(0.2)
