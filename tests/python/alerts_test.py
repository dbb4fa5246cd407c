"""Alert rules and dashboards without a running program: promtool and Grafana's own types are the judges."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import needed
import pytest
import yaml
from alert_cases import CASES, SILENT_TOO, Series
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.alerts import ALERTS
from dashboards.metrics import PROGRAMS, metrics_of

DEPLOY = Path(__file__).parents[2] / "deploy" / "grafana"
NAMES = [alert.name for alerts in ALERTS.values() for alert in alerts]


@pytest.fixture(scope="module")
def promtool() -> str:
    return needed.program("promtool", why=": install Debian's package prometheus")


def run(*words: object) -> tuple[int, str]:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def asked(name: str, series: Series, *, fires: bool) -> dict[str, Any]:
    query = f'count(ALERTS{{alertname="{name}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": 1}] if fires else []
    return {
        "interval": "30s",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "36m", "exp_samples": expected}],
    }


def all_cases() -> Iterator[dict[str, Any]]:
    for name, case in CASES.items():
        yield asked(name, case.fires, fires=True)
        yield asked(name, case.silent, fires=False)
    for name, series in SILENT_TOO.items():
        yield asked(name, series, fires=False)


def test_every_alert_fires_and_is_silent(promtool: str, tmp_path: Path) -> None:
    assert sorted(CASES) == sorted(NAMES)
    wanted = {"rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "2m", "tests": list(all_cases())}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(wanted))
    code, said = run(promtool, "test", "rules", tmp_path / "tests.yml")
    assert (code, "SUCCESS" in said) == (0, True), said


def test_promtool_sees_an_alert_that_cannot_fire(promtool: str, tmp_path: Path) -> None:
    """The test above can fail: with one bound of one rule changed, it does."""
    rules = (DEPLOY / "alerts.yml").read_text()
    (tmp_path / "alerts.yml").write_text(rules.replace("> 0.8", "> 8"))
    series = CASES["ThalwegIndexFills"].fires
    wanted = {"rule_files": ["alerts.yml"], "tests": [asked("ThalwegIndexFills", series, fires=True)]}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(wanted))
    assert run(promtool, "test", "rules", tmp_path / "tests.yml")[0] != 0


def test_promtool_finds_nothing_wrong(promtool: str) -> None:
    code, said = run(promtool, "check", "rules", DEPLOY / "alerts.yml")
    assert (code, f"{len(NAMES)} rules found" in said) == (0, True), said
    code, said = run(promtool, "check", "config", DEPLOY / "prometheus.yml")
    assert code == 0, said


def test_a_sum_beside_its_parts_is_refused() -> None:
    """In every sum() of a query it would count twice."""
    page = '# TYPE a_total counter\na_total{handler="dh0"} 3\n'
    assert [(metric.name, metric.labels) for metric in metrics_of(page)] == [("a_total", ("handler",))]
    with pytest.raises(ValueError, match="samples of a have different labels"):
        metrics_of(page + 'a_total{handler="dh0",thread="0"} 2\na_total{handler="dh0",thread="1"} 1\n')


@pytest.mark.parametrize("name", PROGRAMS)
def test_grafana_knows_every_key(name: str) -> None:
    """What Grafana's types do not know is lost when they read a dashboard, and is found so."""
    given = json.loads((DEPLOY / f"{name}.json").read_text())
    assert lost(given, as_grafana_reads(given)) == []
    given["panels"][1]["fieldConfig"]["defaults"]["units"] = "s"
    assert lost(given, as_grafana_reads(given)) == ["/panels/1/fieldConfig/defaults/units"]


def as_grafana_reads(given: Any) -> Any:
    return json.loads(JSONEncoder().encode(Dashboard.from_json(given)))


def lost(given: Any, read: Any, place: str = "") -> list[str]:
    if isinstance(given, dict):
        missing = [f"{place}/{key}" for key in given if not isinstance(read, dict) or key not in read]
        return missing + [it for key in given if isinstance(read, dict) and key in read
                          for it in lost(given[key], read[key], f"{place}/{key}")]  # fmt: skip
    if isinstance(given, list):
        return [it for n, (one, other) in enumerate(zip(given, read, strict=True))
                for it in lost(one, other, f"{place}/{n}")]  # fmt: skip
    return [] if given == read else [place]
