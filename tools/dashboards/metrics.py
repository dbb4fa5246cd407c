"""The table of metrics: what `/metrics` of a running handler, a running host and a running recording have."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

PROGRAMS = ("readout", "host", "record")
_OWN = {"host": "thalweg_host_"}  # a page of a host has the metrics of its handlers, too


@dataclass(frozen=True)
class Metric:
    name: str  # as queries name it; of a histogram without _bucket
    kind: str  # counter, gauge or histogram
    labels: tuple[str, ...]
    help: str


def metrics_of(exposition: str, program: str = "") -> list[Metric]:
    """Returns a program's own metrics of a page `/metrics`, in the order of the page. Raises ValueError if it is none.

    It is also raised if the samples of one metric have different labels: a sum beside its parts would count twice."""
    found = []
    for family in text_string_to_metric_families(exposition):
        if not family.name.startswith(_OWN.get(program, "")):
            continue
        kinds = {tuple(label for label in sample.labels if label != "le") for sample in family.samples}
        if len(kinds) > 1:
            raise ValueError(
                f"samples of {family.name} have different labels ({sorted(kinds)}): give parts and their sum two names"
            )
        labels = kinds.pop() if kinds else ()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found.append(Metric(name, family.type, labels, family.documentation))
    return found


def write_table(path: Path, table: dict[str, list[Metric]]) -> None:
    plain = {program: [asdict(metric) for metric in table[program]] for program in PROGRAMS}
    path.write_text(json.dumps(plain, indent=1) + "\n")


def read_table(path: Path) -> dict[str, list[Metric]]:
    plain = json.loads(path.read_text())
    return {
        program: [Metric(**(each | {"labels": tuple(each["labels"])})) for each in plain[program]]
        for program in PROGRAMS
    }
