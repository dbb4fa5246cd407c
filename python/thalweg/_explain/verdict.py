"""Makes the verdict of `thalweg explain`: where the time went, and what can be done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import Finding
from thalweg._explain.judged import Judged
from thalweg._explain.rules import RULES
from thalweg._explain.settings import judge
from thalweg._trace.account import Account, accounts
from thalweg._trace.own_work import work_sentences
from thalweg._trace.trace_file import Trace, load_trace

_MOST_ACCOUNTS = 20


@dataclass(frozen=True)
class Verdict:
    trace: Trace
    accounts: list[Account]
    findings: list[Finding]
    """The findings, those with the largest gain first."""
    settings: list[Judged]
    not_looked_for: dict[str, list[str]]
    """The rules that could not be applied, each with the levels that it needs and that were not traced."""

    @property
    def is_complete(self) -> bool:
        """Whether no calls were dropped and all processes are in the trace."""
        report = self.trace.report
        return not (sum(report["dropped"].values()) or report["failed_rings"] or report["untraced"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "trace": self.trace.path,
            "command": self.trace.report["command"],
            "first_line": self.trace.report["first_line"],
            "is_complete": self.is_complete,
            "coverage": self.trace.report["coverage"],
            "hidden_launchers": self.trace.hidden,
            "accounts": [asdict(each) for each in self.accounts],
            "findings": [asdict(each) for each in self.findings],
            "settings": [asdict(each) for each in self.settings],
            "not_looked_for": self.not_looked_for,
            "unfinished": [self._named(each) for each in self.trace.unfinished],
        }

    def _named(self, call: dict[str, Any]) -> dict[str, Any]:
        return {
            "call": self.trace.operations[call["operation"]]["name"],
            "file": self.trace.files[call["file"]],
            "pid": self.trace.processes[call["process"]]["pid"],
            "offset": call["offset"],
            "size": call["size"],
        }

    def lines(self) -> list[str]:
        """Returns the verdict as lines: how much of the program is covered, its processes, and the findings."""
        found = [self.trace.report["first_line"]]
        if self.trace.hidden:
            found.append(f"{self.trace.hidden} processes of the launcher are left out")
        shown = sorted(self.accounts, key=lambda each: each.outside_s - each.elapsed_s)[:_MOST_ACCOUNTS]
        for each in sorted(shown, key=lambda each: (each.rank, each.process)):
            found += [_sentence(each), *(f"  {text}" for text in work_sentences(each.own_work, each.device))]
        if len(self.accounts) > len(shown):
            found.append(f"{len(self.accounts) - len(shown):,} more processes spend less time in I/O (see --json)")
        for call in map(self._named, self.trace.unfinished):
            found.append(f"process {call['pid']} ended inside {call['call']} of {call['file'] or 'no file'}")
        if not self.findings:
            found.append("No rule found anything.")
        found += [
            f"{each.rule}{f' of {each.file}' if each.file else ''}: {each.sentence}{_figures(each)}"
            for each in self.findings
        ]
        if self.not_looked_for:
            levels = sorted({level for missing in self.not_looked_for.values() for level in missing})
            rules = ", ".join(self.not_looked_for)
            found.append(f"rules not applied, since {' and '.join(levels)} calls were not traced: {rules}")
        return found


def _sentence(account: Account) -> str:
    name = f"rank {account.rank}" if account.rank >= 0 else f"process {account.pid} ({account.command[:60]})"
    kinds = sorted(account.by_kind.items(), key=lambda each: -each[1])
    spent = ", ".join(f"{kind} {took:.3g} s" for kind, took in kinds if took >= 0.0005)
    levels = ", ".join(f"{took:.3g} s in {name}" for name, took in account.by_level.items() if took >= 0.0005)
    inside = f"; in calls: {spent} ({levels})" if spent else "; almost no time in calls"
    return f"{name}: {account.elapsed_s:.3g} s from first to last call, {account.outside_s:.3g} s outside I/O{inside}"


def _figures(finding: Finding) -> str:
    """Returns the figures of a finding and the time that can be saved."""
    if not finding.calls:
        return ""
    texts = [f"{finding.calls:,} calls", as_bytes(finding.bytes), f"{finding.seconds:.3g} s"]
    gain = f"; saves at most {finding.gain_s:.2g} s" if finding.gain_s >= 0.001 else ""
    return f" [{', '.join(texts)}{gain}; {finding.table}: {finding.query}]"


def explain(path: str) -> Verdict:
    """Loads a trace and applies all rules. Raises what `trace_file.load` raises."""
    trace = load_trace(path)
    findings = [finding for rule in RULES for finding in rule.findings(trace)]
    missing = {rule.name: levels for rule in RULES if (levels := rule.missing(trace))}
    findings.sort(key=lambda each: (-each.gain_s, -each.seconds))
    return Verdict(trace, accounts(trace), findings, judge(trace), missing)
