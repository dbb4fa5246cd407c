"""Lets all judges play for a time, and adds up what they have tried.

    python tests/judges/campaign.py --seconds 600 --total build/judges/total.json

What a round does follows from its seed. `make judges SECONDS=600` calls it.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import cached_folder  # noqa: E402
import calls  # noqa: E402
import cuts  # noqa: E402
import device  # noqa: E402
import faulty_device  # noqa: E402
import mounted  # noqa: E402
import programs  # noqa: E402
from kills.campaign import Campaign, Game, Options, add_to_total, random_seed, sentences  # noqa: E402
from recordings import SUBJECTS  # noqa: E402
from result import Result  # noqa: E402

CUTS, CALLS, CALLS_OF_NODES = 200, 16, 5  # in a round
PROGRAMS = (*device.PROGRAMS, *faulty_device.PROGRAMS, "bindfs", "strace")


@dataclass(frozen=True)
class Plan:
    seed: int
    judge: str
    cuts: int  # of a recording
    place: str = "disk"
    small_memory: str = "2g"  # so that the round has mounts of its own


def cut(plan: Plan) -> Result:
    """Takes subjects and file systems in turn."""
    file_system = device.FILE_SYSTEMS[plan.seed % len(device.FILE_SYSTEMS)]
    return cuts.play(plan.seed, file_system, plan.cuts, SUBJECTS[plan.seed % len(SUBJECTS)])


def fail_calls(plan: Plan) -> Result:
    name = list(programs.PROGRAMS)[plan.seed % len(programs.PROGRAMS)]
    # A node that fails lets the others wait for it.
    count = CALLS_OF_NODES if programs.PROGRAMS[name].beside else CALLS
    return calls.play(name, plan.seed, count, time.monotonic() + 600)


JUDGES: dict[str, Callable[[Plan], Result]] = {
    "cuts": cut,
    "calls": fail_calls,
    "devices": lambda plan: faulty_device.play(plan.seed),
    "caches": lambda plan: cached_folder.play(plan.seed),
}
SHARES = {"cuts": 10, "calls": 6, "devices": 2, "caches": 2}


class Round:
    def __init__(self, plan: Plan, _folder: Path, _keep: bool) -> None:
        self.plan, self.counts = plan, Counter[str]()

    def play(self) -> None:
        result = JUDGES[self.plan.judge](self.plan)
        self.counts.update(result.counts)
        if result.wrong:
            raise AssertionError("\n".join([self.plan.judge, *result.wrong]))

    def end(self) -> None:
        """Does nothing: what a round has mounted and started ends with its process."""

    def save_reports(self, path: Path) -> None:
        path.write_text(f"{self.plan}\n")


def plan_of(seed: int, judges: list[str], cuts_: int) -> Plan:
    shares = [SHARES[judge] for judge in judges]
    return Plan(seed, random.Random(seed).choices(judges, shares)[0], cuts_)


def main() -> int:
    parser = argparse.ArgumentParser(description="Lets judges that are not ours try to break what is promised.")
    parser.add_argument("--judge", choices=JUDGES, action="append", help="(without it: all)")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seed", type=int, help="of the first round; the others follow (without it: any)")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time")
    parser.add_argument("--total", type=Path, help="a file in which all campaigns are added up")
    parser.add_argument("--cuts", type=int, default=CUTS, help="of each recording")
    given = parser.parse_args()
    why_not = mounted.why_not(PROGRAMS)
    if why_not:
        print(f"the judges are left out: {why_not}", file=sys.stderr)
        return 2
    seed = random_seed() if given.seed is None else given.seed
    judges = given.judge or list(JUDGES)
    seconds = given.seconds or (0 if given.rounds else 60)
    game = Game("judges", lambda number: plan_of(number, judges, given.cuts), Round)
    campaign = Campaign(Options(game, cuts.KEPT.absolute(), seed, given.rounds, seconds, given.jobs))
    campaign.run()
    print("\n".join([f"rounds from seed {seed} on:", *sentences(campaign.total)]))
    if given.total:
        print("\n".join(["all campaigns so far:", *sentences(add_to_total(given.total, campaign.total))]))
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
