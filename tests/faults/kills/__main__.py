import argparse
import os
import sys
from pathlib import Path

from kills.campaign import Campaign, Options, add_to_total, random_seed, sentences

REPOSITORY = Path(__file__).parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kills", description="Kills recordings and judges what is left.")
    parser.add_argument("--seconds", type=float, default=0, help="how long (without it, and without --rounds: 60)")
    parser.add_argument("--rounds", type=int, default=0, help="how many rounds")
    parser.add_argument("--seed", type=int, help="of the first round; the others follow (without it: any)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="rounds at a time")
    parser.add_argument("--columns", type=int, default=1000, help="that a schema has at most")
    parser.add_argument("--total", type=Path, help="a file in which all campaigns are added up")
    parser.add_argument("--keep", action="store_true", help="keep the files of all rounds")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "kills", help="where files are written")
    given = parser.parse_args()
    seconds = given.seconds or (0 if given.rounds else 60)
    seed = random_seed() if given.seed is None else given.seed
    options = Options(given.folder, seed, given.rounds, seconds, given.jobs, given.columns, given.keep)
    campaign = Campaign(options)
    if campaign.why_not_mount:
        print(f"no round has a /dev/shm of its own ({campaign.why_not_mount})")
    campaign.run()
    print("\n".join([f"rounds from seed {seed} on:", *sentences(campaign.total)]))
    if given.total:
        print("\n".join(["all campaigns so far:", *sentences(add_to_total(given.total, campaign.total))]))
    for found in campaign.findings:
        print(f"to repeat: PYTHONPATH=tests/faults python -m kills --seed {found} --rounds 1 --columns {given.columns}")
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
