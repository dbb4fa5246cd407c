"""Settings are applied, read back, checked and restored, on files in the place of a machine: also if it is killed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_network import CARD, FakeHost, killed_at, lines_of

from thalweg import _core
from thalweg._base.errors import DataError, SystemError, UsageError  # noqa: A004
from thalweg._readout import plan as plans
from thalweg._readout.network.applying import State, apply, check, revert
from thalweg._readout.network.settings import Kind, Setting

POINTS = 24  # at which a program is killed


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


def planner(host: FakeHost) -> Callable[..., Any]:
    topology = _core.discover("pack:2 numa:1 l3:1 core:4 pu:2")
    return host.planner(topology, plans.of_handlers(2, 1, 3, topology))


def applied(host: FakeHost) -> dict[str, State]:
    report = apply(host.machine, planner(host), host.journal)
    return {outcome.setting.what: outcome.state for outcome in report.outcomes}


def test_everything_is_applied_and_restored(host: FakeHost) -> None:
    before = host.all_values()
    states = applied(host)
    assert set(states.values()) == {State.APPLIED}
    assert host.ethtool()["values"]["channels"] == {"combined": 3}
    assert host.read(host.queue("rx-2/rps_flow_cnt")) == str(131072 // 3)
    assert host.read(host.queue("rx-0/rps_cpus")) == "0"
    assert [host.read(f"proc/irq/{40 + queue}/smp_affinity_list") for queue in range(3)] == ["2", "4", "6"]
    assert "eth4 interrupt eth4-TxRx-2" in states  # which came with the third queue
    assert planner(host)()[0].changes == []
    assert {each.state for each in check(host.machine, host.journal).outcomes} == {State.APPLIED}
    report = revert(host.machine, host.journal)
    assert host.all_values() == before
    gone = {each.setting.what for each in report.outcomes if each.state is State.ABSENT}
    assert {name.split("/")[0] for name in gone} == {"eth4 rx-2", "eth4 tx-2", "eth4 interrupt eth4-TxRx-2"}
    assert not host.journal.path.exists()
    with pytest.raises(UsageError, match="nothing was applied"):
        revert(host.machine, host.journal)


def test_the_journal_is_on_the_disk_before_anything_is_changed(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    before = host.all_values()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(SystemError, match=r"journal .* cannot be written \(No space left"):
        applied(host)
    assert host.all_values() == before


def test_a_card_that_keeps_its_channels_is_planned_for_those(host: FakeHost) -> None:
    host.refuse("combined")
    states = applied(host)
    assert states.pop("eth4 channels combined") is State.REFUSED
    assert set(states.values()) == {State.APPLIED}
    assert host.read(host.queue("rx-0/rps_cpus")) == "54"  # 2, 4 and 6: two queues for three cores


def test_what_others_have_set_since_is_found_and_restored(host: FakeHost) -> None:
    before = host.all_values()
    applied(host)
    host.write("proc/irq/40/smp_affinity_list", "0-7")
    host.write("proc/sys/net/core/netdev_budget", 64)
    found = {each.setting.what: each for each in check(host.machine, host.journal).outcomes}
    wrong = {name for name, each in found.items() if each.state is State.OVERRIDDEN}
    assert wrong == {"eth4 interrupt eth4-TxRx-0", "net.core.netdev_budget"}
    assert (found["net.core.netdev_budget"].found, found["net.core.netdev_budget"].reason) == ("64", "it was 1200")
    revert(host.machine, host.journal)
    assert host.all_values() == before


def test_what_cannot_be_restored_stays_in_the_journal(host: FakeHost) -> None:
    before = host.all_values()
    applied(host)
    host.refuse("rx-usecs")
    report = revert(host.machine, host.journal)
    assert [each.setting.name for each in report.outcomes if each.state is State.REFUSED] == ["rx-usecs"]
    assert host.journal.path.exists()
    host.refuse("")
    revert(host.machine, host.journal)
    assert (host.all_values() | {"ethtool.json": ""}) == (before | {"ethtool.json": ""})
    assert host.ethtool()["values"]["coalesce"]["rx-usecs"] == 8


def test_a_setting_that_is_refused_is_named(host: FakeHost) -> None:
    host.refuse("tx-frames")
    report = apply(host.machine, planner(host), host.journal)
    (refused,) = [each for each in report.outcomes if each.state is State.REFUSED]
    assert (refused.setting.name, refused.found, refused.reason) == ("tx-frames", "32", "Device or resource busy")
    again = {each.setting.name: each.state for each in check(host.machine, host.journal).outcomes}
    assert again["tx-frames"] is State.REFUSED


def test_another_interface_of_the_same_name_is_left_alone(host: FakeHost) -> None:
    applied(host)
    host.write(f"sys/class/net/{CARD}/ifindex", 8)
    outcomes = revert(host.machine, host.journal).outcomes
    of_card = {(each.state, each.reason) for each in outcomes if each.setting.card}
    assert of_card == {(State.ABSENT, "another interface has this name now")}
    assert host.ethtool()["values"]["channels"] == {"combined": 3}
    assert host.read("proc/sys/net/core/netdev_budget") == "300"


def test_a_setting_whose_card_is_gone_is_not_in_effect_any_more(host: FakeHost) -> None:
    applied(host)
    (host.root / f"sys/class/net/{CARD}").rename(host.root / "away")
    outcomes = check(host.machine, host.journal).outcomes
    of_card = {(each.state, each.reason) for each in outcomes if each.setting.card and each.found == ""}
    assert (State.OVERRIDDEN, "there is no such interface any more") in of_card
    assert State.APPLIED not in {state for state, _ in of_card}


def test_the_journal_of_an_earlier_boot_restores_nothing(host: FakeHost) -> None:
    applied(host)
    with pytest.raises(UsageError, match="settings were applied before"):
        applied(host)
    host.write("proc/sys/kernel/random/boot_id", "2a2a")
    with pytest.raises(UsageError, match="has ended with an earlier boot"):
        revert(host.machine, host.journal)
    assert host.read("proc/sys/net/core/netdev_budget") == "1200"
    assert not host.journal.path.exists()


def test_a_boot_that_cannot_be_told_is_an_error(host: FakeHost) -> None:
    (host.root / "proc/sys/kernel/random/boot_id").unlink()
    with pytest.raises(SystemError, match="cannot read /proc/sys/kernel/random/boot_id"):
        applied(host)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no journal of network settings"), ("{}", "no journal"), ('{"version": 2}', "a journal of version 2")],
)
def test_what_is_no_journal_is_refused(host: FakeHost, text: str, said: str) -> None:
    host.write("var/network.json", text)
    with pytest.raises(DataError, match=said):
        check(host.machine, host.journal)


def test_two_processes_do_not_change_settings_together(host: FakeHost) -> None:
    with host.journal.locked(), pytest.raises(UsageError, match="another process works"), host.journal.locked():
        pass


# Killed


def points(lines: int, count: int) -> list[int]:
    return sorted({1 + lines * number // count for number in range(count)} | {lines})


def test_a_program_that_is_killed_while_it_applies_loses_no_value(tmp_path: Path, long_mode: bool) -> None:
    counted = FakeHost(tmp_path / "counted")
    lines = lines_of(lambda: applied(counted))
    changed = 0
    for line in points(lines, POINTS * (20 if long_mode else 1)):
        host = FakeHost(tmp_path / f"at-{line}")
        before = host.all_values()
        assert killed_at(line, lambda host=host: applied(host))
        changed += host.all_values() != before
        if host.journal.path.exists():
            states = {each.state for each in check(host.machine, host.journal).outcomes}
            assert State.OVERRIDDEN not in states
            revert(host.machine, host.journal)
        assert host.all_values() == before, f"killed before line {line} of {lines}"
        assert not list(host.journal.path.parent.glob("*.json"))
    assert changed > POINTS // 4  # it was killed while settings were changed


def test_a_program_that_is_killed_while_it_reverts_can_revert_again(tmp_path: Path, long_mode: bool) -> None:
    def reverted(host: FakeHost) -> object:
        return revert(host.machine, host.journal)

    counted = FakeHost(tmp_path / "counted")
    applied(counted)
    lines = lines_of(lambda: reverted(counted))
    halfway = 0
    for line in points(lines, POINTS * (20 if long_mode else 1)):
        host = FakeHost(tmp_path / f"at-{line}")
        before = host.all_values()
        applied(host)
        after = host.all_values()
        assert killed_at(line, lambda host=host: reverted(host))
        halfway += host.all_values() not in (before, after)
        if host.journal.path.exists():
            revert(host.machine, host.journal)
        assert host.all_values() == before, f"killed before line {line} of {lines}"
    assert halfway > POINTS // 4


def test_the_journal_says_what_was_and_what_is(host: FakeHost) -> None:
    applied(host)
    content = host.journal.load()
    assert content is not None
    (budget,) = [each for each in content.entries if each.setting == Setting(Kind.SYSCTL, "", "net.core.netdev_budget")]
    assert (budget.before, budget.after, budget.found, budget.outcome) == ("300", "1200", "1200", "applied")
    assert content.cards == {CARD: 7}
    kept = {each.setting.name for each in content.entries if each.after is None}
    assert {"rx-0/rps_flow_cnt", "tx-1/xps_rxqs", "tx"} & kept == {"tx-1/xps_rxqs", "tx"}
    assert json.loads(host.journal.path.read_text())["version"] == 1
