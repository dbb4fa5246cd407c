"""What `thalweg explain` says of a trace: where the time went, and what could be done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thalweg._explain.account import Account, accounts
from thalweg._explain.findings import Finding
from thalweg._explain.rules import RULES
from thalweg._explain.settings import Judged, judge
from thalweg._explain.trace_file import Trace, load

_MOST_ACCOUNTS = 20


@dataclass(frozen=True)
class Verdict:
    trace: Trace
    accounts: list[Account]
    findings: list[Finding]
    """Those whose calls took longest first."""
    settings: list[Judged]

    @property
    def is_complete(self) -> bool:
        """No calls were dropped, and all processes are in the trace."""
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
        """First how much of the program this is about; then its processes; then what was found."""
        found = [self.trace.report["first_line"]]
        if self.trace.hidden:
            found.append(f"{self.trace.hidden} processes of the launcher are left out")
        shown = sorted(self.accounts, key=lambda each: each.outside_s - each.elapsed_s)[:_MOST_ACCOUNTS]
        found += [_sentence(each) for each in sorted(shown, key=lambda each: (each.rank, each.process))]
        if len(self.accounts) > len(shown):
            found.append(f"{len(self.accounts) - len(shown):,} more processes spend less in I/O; --json has them")
        for call in map(self._named, self.trace.unfinished):
            found.append(f"process {call['pid']} died in {call['call']} of {call['file'] or 'no file'}")
        if not self.findings:
            found.append("Nothing was found that a rule knows.")
        for finding in self.findings:
            where = f" of {finding.file}" if finding.file else ""
            gain = f" ({finding.seconds:.3g} s)" if finding.seconds >= 0.001 else ""
            found.append(f"{finding.rule}{where}: {finding.sentence}{gain}")
        return found


def _sentence(account: Account) -> str:
    who = f"rank {account.rank}" if account.rank >= 0 else f"process {account.pid} ({account.command[:60]})"
    kinds = sorted(account.by_kind.items(), key=lambda each: -each[1])
    spent = ", ".join(f"{kind} {took:.3g} s" for kind, took in kinds if took >= 0.0005)
    levels = ", ".join(f"{took:.3g} s in {name}" for name, took in account.by_level.items() if took >= 0.0005)
    inside = f"; in calls: {spent} ({levels})" if spent else "; next to nothing in calls"
    return f"{who}: {account.elapsed_s:.3g} s from first to last call, {account.outside_s:.3g} s outside I/O{inside}"


def explain(path: str) -> Verdict:
    """Raises as `trace_file.load` does."""
    trace = load(path)
    findings = [finding for rule in RULES for finding in rule(trace)]
    return Verdict(trace, accounts(trace), sorted(findings, key=lambda each: -each.seconds), judge(trace))
