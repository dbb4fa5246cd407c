"""A child of foreign_damage_test: reads damaged files, and says what came of each.

Each line that it is told is a job in JSON: the file, the sound one, a seed, and how many damaged copies are tried from
which number on. For each it says `verify N` before and `read N` between, and then `N OUTCOME`. With the argument
`without-h5py` only the core reads.
"""

import json
import random
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import thalweg as tw

MOST_ROWS = 10_000
MOST_MEMORY = 8 << 30
MOST_SECONDS = 20  # of CPU, for one copy
HEAD = 4096  # where most metadata of small files are


def damaged(content: bytes, chance: random.Random) -> bytes:
    """What disks, cables and programs do to files."""
    changed = bytearray(content)
    room = min(len(content), HEAD) if chance.random() < 0.5 else len(content)
    at, size = chance.randrange(room), chance.randint(1, 64)
    match chance.randrange(8):
        case 0:
            return bytes(changed[: chance.randrange(len(changed))])
        case 1:
            changed[at : at + size] = bytes(len(changed[at : at + size]))
        case 2:  # what belongs elsewhere
            source = chance.randrange(len(changed))
            changed[at : at + size] = (changed[source : source + size] + bytes(size))[: len(changed[at : at + size])]
        case 3:  # a number that is as large as can be
            changed[at : at + size % 8 + 1] = b"\xff" * len(changed[at : at + size % 8 + 1])
        case _:
            for _ in range(chance.randint(1, 4)):
                changed[chance.randrange(room)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def shown(path: Path) -> dict[str, Any]:
    """All values, by table and column; what is left out is not there."""
    run = tw.open(path)
    values: dict[str, Any] = {}
    for name, table in run.items():
        rows = min(len(table), MOST_ROWS)
        for field in table.schema:
            values[f"{name}.{field}"] = len(table), table.read(field, rows=slice(0, rows)).members[field]
    return values


def parts(value: Any) -> list[Any]:
    """Arrays, which can be compared."""
    if isinstance(value, tw.Rows):
        return [part for name, member in value.members.items() for part in [name, *parts(member)]]
    if isinstance(value, tw.Ragged):
        packed = value.packed()
        return [packed.shape, packed.offsets, *parts(packed.content)]
    return [np.asarray(value)]


def same(one: Any, other: Any) -> bool:
    first, second = parts(one), parts(other)
    return len(first) == len(second) and all(
        a.dtype == b.dtype and a.tobytes() == b.tobytes()
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        else np.array_equal(a, b)
        for a, b in zip(first, second, strict=True)
    )


def outcome(path: Path, sound: dict[str, Any]) -> str:
    """same: all that is shown is as it was, and something may be left out; other: it is not; else why there is none."""
    try:
        found = shown(path)
    except (tw.DataError, tw.UsageError, tw.SystemError) as error:
        return f"refused: {error}"
    except MemoryError:
        return "refused: there is not so much memory"
    wrong = [
        name
        for name, (rows, value) in found.items()
        if name in sound and (rows != sound[name][0] or not same(value, sound[name][1]))
    ]
    return f"other: {wrong}" if wrong else "same"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        job = json.loads(line)
        sound_path = Path(job["sound"])
        content = sound_path.read_bytes()
        try:
            sound = shown(sound_path)
        except tw.DataError:  # all of it is left out
            sound = {}
        path = sound_path.with_name(f"damaged-{sound_path.name}")
        for number in range(job["first"], job["count"]):
            path.write_bytes(damaged(content, random.Random(f"{job['seed']} {number}")))
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # whose signal ends this process, inside libhdf5, too
            print(f"verify {number}", flush=True)
            try:
                sound_by_verify = tw.verify(path).is_sound
            except (tw.DataError, tw.UsageError, tw.SystemError):
                sound_by_verify = False
            print(f"read {number}", flush=True)
            said = outcome(path, sound).replace("\n", " ")
            print(f"{number} {'sound' if sound_by_verify else 'faulty'} {said}", flush=True)
        path.unlink(missing_ok=True)
        print("done", flush=True)


if __name__ == "__main__":
    if "without-h5py" in sys.argv:
        sys.modules["h5py"] = None  # type: ignore[assignment] # so that it cannot be imported
    main()
