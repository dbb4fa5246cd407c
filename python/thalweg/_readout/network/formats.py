"""Writes a plan for other programs: as a shell script, and as a profile of TuneD."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._readout.network.planning import Change, NetworkPlan
from thalweg._readout.network.settings import OF_ETHTOOL, Kind, mask_of

_OPTIONS = {Kind.CHANNELS: "-L", Kind.RING: "-G", Kind.COALESCE: "-C"}
_SECTIONS = {Kind.CHANNELS: "channels", Kind.RING: "ring", Kind.COALESCE: "coalesce"}
_SWITCHES = ("adaptive-rx", "adaptive-tx")
_HEAD = "# Settings of network cards and kernel, as `thalweg readout network --plan` plans them for one host.\n"
_SCRIPT_HEAD = f"""\
#!/bin/sh
{_HEAD}# What the machine refuses is named on stderr, and the exit code is then 1. What was set before is not kept.
failed=0
put() {{ printf '%s\\n' "$1" > "$2" || failed=1; }}
card() {{ ethtool "$@" || failed=1; }}
interrupt() {{
    is_there=0
    for folder in /proc/irq/*/"$2"; do
        [ -d "$folder" ] || continue
        is_there=1
        put "$1" "${{folder%/*}}/smp_affinity_list"
    done
    [ $is_there = 1 ] || {{ echo "there is no interrupt $2" >&2; failed=1; }}
}}
"""
_KEEP = "/run/thalweg-network-interrupts"
# TuneD calls it with "start" and "stop". It has no part of its own for the interrupts of a card.
_INTERRUPTS_HEAD = f"""\
#!/bin/sh
{_HEAD}kept={_KEEP}
failed=0
interrupt() {{
    is_there=0
    for folder in /proc/irq/*/"$2"; do
        [ -d "$folder" ] || continue
        is_there=1
        file="${{folder%/*}}/smp_affinity_list"
        printf '%s %s\\n' "$(cat "$file")" "$file" >> "$kept"
        printf '%s\\n' "$1" > "$file" || failed=1
    done
    [ $is_there = 1 ] || {{ echo "there is no interrupt $2" >&2; failed=1; }}
}}
if [ "$1" = stop ]; then
    [ -e "$kept" ] || exit 0
    while read -r value file; do printf '%s\\n' "$value" > "$file" || failed=1; done < "$kept"
    rm -f "$kept"
    exit $failed
fi
[ "$1" = start ] || exit 0
[ -e "$kept" ] && exit 0
"""


def as_shell(plan: NetworkPlan) -> str:
    """Returns a script for sh. It needs the program ethtool if the plan has settings of cards."""
    return "".join([_SCRIPT_HEAD, *map(_shell_line, plan.changes), "exit $failed\n"])


def write_tuned(plan: NetworkPlan, folder: Path) -> None:
    """Writes a profile of TuneD into a folder, which is made. Raises SystemError if it cannot be written."""
    interrupts = [each for each in plan.changes if each.setting.kind is Kind.INTERRUPT]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tuned.conf").write_text("\n".join(_tuned_sections(plan.changes, bool(interrupts))))
        if interrupts:
            script = folder / "interrupts.sh"
            script.write_text("".join([_INTERRUPTS_HEAD, *map(_shell_line, interrupts), "exit $failed\n"]))
            script.chmod(0o755)
    except OSError as error:
        raise SystemError(error.errno or 0, f"the profile {folder} cannot be written ({error.strerror})") from None


def _shell_line(change: Change) -> str:
    setting, value = change.setting, change.after
    if setting.kind in OF_ETHTOOL:
        words = ["card", _OPTIONS[setting.kind], setting.card, setting.name, _word(change)]
    elif setting.kind is Kind.INTERRUPT:
        words = ["interrupt", value, setting.name]
    else:
        words = ["put", mask_of(value) if setting.has_mask else value, _file(change)]
    return f"{shlex.join(words)}  # {change.why} ({change.source})\n"


def _tuned_sections(changes: Sequence[Change], has_interrupts: bool) -> Iterator[str]:
    yield f"{_HEAD}[main]\nsummary=Network of the readout, planned by thalweg\n"
    yield from _section("sysctl", [f"{each.setting.name}={each.after}" for each in _of(changes, Kind.SYSCTL)])
    for card in dict.fromkeys(each.setting.card for each in changes if each.setting.kind in OF_ETHTOOL):
        lines = ["type=net", f"devices={card}"]
        for kind, name in _SECTIONS.items():
            of_one = [each for each in _of(changes, kind) if each.setting.card == card]
            if of_one:
                lines.append(f"{name}={' '.join(f'{each.setting.name} {_word(each)}' for each in of_one)}")
        yield from _section(f"net_{card}", lines)
    files = _of(changes, Kind.QUEUE)
    values = (mask_of(each.after) if each.setting.has_mask else each.after for each in files)
    yield from _section("sysfs", [f"{_file(each)}={value}" for each, value in zip(files, values, strict=True)])
    if has_interrupts:
        yield from _section("script", ["script=${i:PROFILE_DIR}/interrupts.sh"])


def _section(name: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield "\n".join([f"[{name}]", *lines, ""])


def _of(changes: Sequence[Change], kind: Kind) -> list[Change]:
    return [each for each in changes if each.setting.kind is kind]


def _word(change: Change) -> str:
    is_switch = change.setting.name in _SWITCHES
    return ("on" if change.after == "1" else "off") if is_switch else change.after


def _file(change: Change) -> str:
    setting = change.setting
    if setting.kind is Kind.SYSCTL:
        return f"/proc/sys/{setting.name.replace('.', '/')}"
    return f"/sys/class/net/{setting.card}/queues/{setting.name}"
