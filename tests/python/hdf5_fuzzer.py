"""hdf5_fuzzer.py [--seconds S] [--seed N] [--found FOLDER]: HDF5 files, our own and foreign ones, changed anywhere.

A child reads them (damage_reader.py). It never crashes where the core alone reads, and comes to an end; what it shows
of an own file is what was written. A fuzz target of `make fuzz`: libFuzzer cannot be used, since a crash in libhdf5
ends the process that it is in. The exit code is 1 where something was found, which is kept in FOLDER.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import damage_reader
import foreign_damage_test
import h5py
import numpy as np
from foreign_kinds import KINDS

import thalweg as tw
from thalweg import _core

COPIES = 20  # of a file, in a row


def make_own(path: Path, chance: random.Random) -> None:
    """A complete file of ours, of one of several schemas, with pages of any size."""
    codec = chance.choice(("none", "lz4", "zstd-1", "bitshuffle+lz4"))
    pages = chance.choice((512, 8192))
    tuning = tw.Tuning(wide_codec=codec, narrow_codec=codec, wide_page_bytes=pages, narrow_page_bytes=pages)
    fields = {"g": {"x": tw.float64, "list": tw.list_(tw.uint16), "text": tw.string, "array": tw.array(tw.int32, 7)}}
    rows = chance.choice((1, 50, 3000))
    numbers = np.arange(rows)
    with tw.create(path, tw.schema(fields), tuning=tuning) as run, run.producer("g") as producer:
        producer.append(
            x=numbers * 0.5,
            list=[np.arange(n % 5, dtype=np.uint16) for n in numbers],
            text=[f"row {n}" for n in numbers],
            array=np.arange(7 * rows, dtype=np.int32).reshape(rows, 7),
        )


def make(kind: str, path: Path, chance: random.Random) -> None:
    if kind == "own":
        return make_own(path, chance)
    libver = ("v110", "v110") if kind in foreign_damage_test.KNOWN else ("earliest", "v110")
    with h5py.File(path, "w", libver=libver) as file:
        KINDS[kind](file)
    return None


def faults(kind: str, path: Path, outcomes: list[str]) -> list[tuple[int, str]]:
    """By the number of the copy. What h5py reads in the process that asks may crash there (docs/decisions/0055)."""
    by_h5py = bool(_core.Reader.open(str(path), even_without_tables=True).left_out)
    found = []
    for number, said in enumerate(outcomes):
        crashed = said == "crashed verify" or (said == "crashed read" and not by_h5py)
        wrong = "other:" in said and (kind == "own" or (kind in foreign_damage_test.KNOWN and "'g.x'" in said))
        if crashed or wrong:
            found.append((number, said))
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1000)
    parser.add_argument("--found", type=Path, default=Path())
    wanted = parser.parse_args()
    end = time.monotonic() + wanted.seconds
    readers = {"without h5py": foreign_damage_test.Reader("without-h5py"), "with h5py": foreign_damage_test.Reader()}
    counts: Counter[str] = Counter()
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.h5"
        for seed in range(wanted.seed, sys.maxsize):
            if time.monotonic() >= end or found:
                break
            chance = random.Random(seed)
            kind = "own" if seed % 2 else chance.choice(list(KINDS))
            path.unlink(missing_ok=True)
            make(kind, path, chance)
            by_h5py = bool(_core.Reader.open(str(path), even_without_tables=True).left_out)
            name = f"{kind} {seed}"
            outcomes = readers["with h5py" if by_h5py else "without h5py"].outcomes(name, path, COPIES)
            counts.update(said.split()[1].rstrip(":") for said in outcomes)
            for number, said in faults(kind, path, outcomes):
                kept = wanted.found / f"hdf5-{seed}-{number}.h5"
                words = f"{foreign_damage_test.SEED} {name} {number}"
                kept.write_bytes(damage_reader.damaged(path.read_bytes(), random.Random(words)))
                print(f"{kept} (of {kind}): {said}", flush=True)
                found += 1
    for reader in readers.values():
        reader.stop()
    print(
        f"inputs: {counts.total()} ({', '.join(f'{count} {word}' for word, count in counts.most_common())})", flush=True
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
