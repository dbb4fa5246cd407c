"""Makes the verdict of `thalweg explain`: where the time went, and what can be done."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from thalweg._base.quantities import as_bytes
from thalweg._explain.counters import FileCounters, as_figures, counters
from thalweg._explain.findings import Finding, each_call_once
from thalweg._explain.judged import Judged
from thalweg._explain.phases import Phase, main_phase, phases
from thalweg._explain.proofs import proof
from thalweg._explain.rules import RULES
from thalweg._explain.settings import judge
from thalweg._trace.account import Account, accounts
from thalweg._trace.own_work import work_sentences
from thalweg._trace.trace_file import Trace, load_trace

_MOST_ACCOUNTS, _MOST_SHARED = 20, 5
_OF_LIBRARIES = frozenset(rule.name for rule in RULES if {"mpi", "hdf5"} & set(rule.needs))
_HELPERS = re.compile(r"(\S*/)?((ba|da|z|k)?sh|env|xargs|nice|timeout|time|taskset|setsid|nohup|make)( |$)")


@dataclass(frozen=True)
class Verdict:
    trace: Trace
    accounts: list[Account]
    phases: list[Phase]
    findings: list[Finding]
    """The findings, those with the largest gain first."""
    settings: list[Judged]
    counters: list[FileCounters]
    """What was done to each file, those with most bytes first."""
    not_looked_for: dict[str, list[str]]
    """The rules that could not be applied, each with the levels that it needs and that were not traced."""

    @property
    def is_complete(self) -> bool:
        return self.trace.is_complete

    @property
    def other_lines(self) -> list[str]:
        """The other lines of the report of `thalweg trace`: what is not in the trace."""
        return list(self.trace.report.get("other_lines", []))

    @property
    def helpers(self) -> list[Account]:
        """Processes that only start others: shells and the like, with hardly any time in calls."""
        whole = sum(each.elapsed_s - each.outside_s for each in self.accounts)
        return [
            each
            for each in self.accounts
            if each.rank < 0 and _HELPERS.match(each.command) and each.elapsed_s - each.outside_s < 0.05 * whole
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "trace": self.trace.path,
            "command": self.trace.report["command"],
            "first_line": self.trace.report["first_line"],
            "other_lines": self.other_lines,
            "is_complete": self.is_complete,
            "coverage": self.trace.report["coverage"],
            "hidden_launchers": self.trace.hidden,
            "accounts": [asdict(each) for each in self.accounts],
            "phases": [asdict(each) for each in self.phases],
            "findings": [{**each.to_dict(), "proof": proof(each, self.trace)} for each in self.findings],
            "counters": as_figures(self.counters),
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
        found = [self.trace.report["first_line"], *self.other_lines]
        if self.trace.hidden:
            found.append(f"{self.trace.hidden} processes of the launcher are left out")
        helpers = self.helpers if len(self.accounts) > len(self.helpers) else []
        if helpers:
            found.append(f"{len(helpers)} shells and other processes that only start programs are left out")
        others = [each for each in self.accounts if each not in helpers]
        shown = sorted(others, key=lambda each: each.outside_s - each.elapsed_s)[:_MOST_ACCOUNTS]
        for each in sorted(shown, key=lambda each: (each.rank, each.process)):
            found.append(_sentence(each, bool(self.phases)))
            found += [f"  {text}" for text in work_sentences(each.own_work, each.device)]
        if len(others) > len(shown):
            found.append(f"{len(others) - len(shown):,} more processes spend less time in I/O (see --json)")
        shared = [each for each in self.counters if each.bytes_by_rank is not None]
        found += [each.sentence() for each in shared[:_MOST_SHARED]]
        if len(shared) > _MOST_SHARED:
            found.append(f"{len(shared) - _MOST_SHARED:,} more files are used by several ranks (see --json)")
        found += self._waits()
        found += [each.sentence() for each in self.phases]
        for call in map(self._named, self.trace.unfinished):
            found.append(f"process {call['pid']} ended inside {call['call']} of {call['file'] or 'no file'}")
        if not self.findings:
            found.append("No rule found anything.")
        found += self._told()
        if self.not_looked_for:
            levels = sorted({level for missing in self.not_looked_for.values() for level in missing})
            rules = ", ".join(self.not_looked_for)
            found.append(f"rules not applied, since {' and '.join(levels)} calls were not traced: {rules}")
        return found

    def _waits(self) -> list[str]:
        """Returns which processes waited for a core for much of their time, as lines."""
        waits = [(each["pid"], each["waited_s"], each["ran_s"]) for each in self.trace.report.get("schedule", [])]
        return [
            f"process {pid} waited {waited:.3g} s for a core, since other programs ran: gains are without that"
            for pid, waited, ran in waits
            if waited > max(0.1, 0.25 * ran)
        ]

    def _told(self) -> list[str]:
        """Returns the findings as lines: a cause, and below it what has the same cause."""
        found = []
        for each in (one for one in self.findings if not one.part_of):
            found.append(f"{_named(each)}{_figures(each)}")
            if command := proof(each, self.trace):
                found.append(f"  to prove it: {command}")
            parts = [one for one in self.findings if one.part_of == each.rule and one.cause_file == each.file]
            found += [f"  with the same cause, {_named(one)}" for one in parts]
        return found


def _named(finding: Finding) -> str:
    return f"{finding.rule}{f' of {finding.file}' if finding.file else ''}: {finding.sentence}"


def _sentence(account: Account, has_phases: bool) -> str:
    name = f"rank {account.rank}" if account.rank >= 0 else f"process {account.pid} ({account.command[:60]})"
    kinds = sorted(account.by_kind.items(), key=lambda each: -each[1])
    spent = ", ".join(f"{kind} {took:.3g} s" for kind, took in kinds if took >= 0.0005)
    levels = ", ".join(f"{took:.3g} s in {name}" for name, took in account.by_level.items() if took >= 0.0005)
    inside = f"; in calls: {spent} ({levels})" if spent else "; almost no time in calls"
    ends = "from the first call or phase to the last" if has_phases else "from first to last call"
    return f"{name}: {account.elapsed_s:.3g} s {ends}, {account.outside_s:.3g} s outside I/O{inside}"


def _figures(finding: Finding) -> str:
    """Returns the figures of a finding and the time that can be saved."""
    if not finding.calls:
        return ""
    texts = [f"{finding.calls:,} calls", as_bytes(finding.bytes), f"{finding.seconds:.3g} s"]
    how = f": {finding.how}" if finding.how else ""
    interval = f" ({finding.low_s:.2g} to {finding.high_s:.2g} s{how})"
    gain = f"; saves {finding.saves_s:.2g} s{interval}" if finding.saves_s >= 0.001 else ""
    phase = f", in phase {finding.phase}" if finding.phase else ""
    return f" [{', '.join(texts)}{phase}{gain}; {finding.table}: {finding.query}]"


def explain(path: str) -> Verdict:
    """Loads a trace and applies all rules. Raises what `trace_file.load` raises."""
    trace = load_trace(path)
    findings = [finding for rule in RULES for finding in rule.findings(trace)]
    missing = {rule.name: levels for rule in RULES if (levels := rule.missing(trace))}
    strongest = each_call_once(findings, _OF_LIBRARIES)
    kept = [replace(each, phase=main_phase(trace, each.about)) for each in strongest]
    return Verdict(trace, accounts(trace), phases(trace), kept, judge(trace), counters(trace), missing)
