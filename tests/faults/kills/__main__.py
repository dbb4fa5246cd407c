import argparse
import os
import sys
from pathlib import Path

from kills.campaign import Campaign, Game, Options, add_to_total, random_seed, sentences

REPOSITORY = Path(__file__).parents[3]
GAMES = ("record", "derive", "checkpoint")


def game_of(name: str, most_columns: int) -> Game:
    if name == "derive":
        from kills.derive.plan import make_plan as plan_of_job
        from kills.derive.round import Round as RoundOfJob

        return Game(name, plan_of_job, RoundOfJob)
    if name == "checkpoint":
        from kills.checkpoint.plan import make_plan as plan_of_saves
        from kills.checkpoint.round import Round as RoundOfSaves

        return Game(name, plan_of_saves, RoundOfSaves)
    from kills.plan import make_plan
    from kills.round import Round

    return Game(name, lambda seed: make_plan(seed, most_columns), Round)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kills", description="Kills processes and judges what is left.")
    parser.add_argument("--game", choices=GAMES, default="record", help="recordings, jobs of derivations, or saves")
    parser.add_argument("--seconds", type=float, default=0, help="how long (without it, and without --rounds: 60)")
    parser.add_argument("--rounds", type=int, default=0, help="how many rounds")
    parser.add_argument("--seed", type=int, help="of the first round; the others follow (without it: any)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="rounds at a time")
    parser.add_argument("--columns", type=int, default=1000, help="that the schema of a recording has at most")
    parser.add_argument("--total", type=Path, help="a file in which all campaigns are added up")
    parser.add_argument("--keep", action="store_true", help="keep the files of all rounds")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "kills", help="where files are written")
    given = parser.parse_args()
    seconds = given.seconds or (0 if given.rounds else 60)
    seed = random_seed() if given.seed is None else given.seed
    game = game_of(given.game, given.columns)
    options = Options(game, given.folder, seed, given.rounds, seconds, given.jobs, given.keep)
    campaign = Campaign(options)
    if campaign.why_not_mount:
        print(f"no round has a /dev/shm of its own ({campaign.why_not_mount})")
    campaign.run()
    print("\n".join([f"rounds from seed {seed} on:", *sentences(campaign.total)]))
    if given.total:
        print("\n".join(["all campaigns so far:", *sentences(add_to_total(given.total, campaign.total))]))
    words = f"--columns {given.columns}" if game.name == "record" else f"--game {game.name}"
    for found in campaign.findings:
        print(f"to repeat: PYTHONPATH=tests/faults:tests/python python -m kills {words} --seed {found} --rounds 1")
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
