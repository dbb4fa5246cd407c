"""model.py: what a checkpoint of up to 8192 ranks would take, from what one machine measured and what is assumed.

    time of one file         fixed + plan and facts of rank 0 + words of ranks to rank 0 + payload / rate
    time of a file per rank  fixed + names / names a second + payload / rate

Both are given the same rate, because that is what the study finds on one machine: whether a parallel file system gives
one file what it gives to many is what the model does not know.
"""

import csv
import statistics
from dataclasses import dataclass
from pathlib import Path

RANK_BYTES = 127_000_000
MEASUREMENTS = Path(__file__).with_name("results") / "measurements.csv"


@dataclass(frozen=True)
class Assumed:
    """Of a cluster; nothing of it was measured here."""

    file_system_rate: float = 22.0  # GB/s; the paper's peak of writes on CURIE, 21,000 MiB/s
    ranks_per_node: int = 16  # as on CURIE's thin nodes
    word_us: float = 5.0  # a message of some KB to rank 0, over a network
    names_per_s: float = 1400  # files created in one folder by many; measured in studies/nodes on a local disk


@dataclass(frozen=True)
class Measured:
    """Of the machine of the study, from its results."""

    node_rate: float  # GB/s of one file, 4 ranks
    facts_s: dict[int, float]  # rank 0 alone, by number of ranks
    fixed_s: float  # a save without payload to speak of

    @staticmethod
    def read(path: Path = MEASUREMENTS) -> "Measured":
        seconds: dict[str, list[float]] = {}
        rates: dict[str, list[float]] = {}
        with path.open() as file:
            for row in csv.DictReader(file):
                seconds.setdefault(row["variant"], []).append(float(row["seconds"]))
                if row["GB_per_s"]:
                    rates.setdefault(row["variant"], []).append(float(row["GB_per_s"]))
        begin, end = "once: facts of ", " ranks"
        facts = {
            int(name.removeprefix(begin).removesuffix(end)): statistics.median(values)
            for name, values in seconds.items()
            if name.startswith(begin)
        }
        fixed = statistics.median(seconds["once: extents, next to nothing, 4 ranks"])
        return Measured(statistics.median(rates["extents, 4 ranks"]), facts, fixed)

    def facts_of(self, ranks: int) -> float:
        """Along straight lines between what was measured."""
        known = sorted(self.facts_s)
        above = next((each for each in known if each >= ranks), known[-1])
        below = max((each for each in known if each <= ranks), default=known[0])
        if above == below:
            return self.facts_s[above] * ranks / above
        share = (ranks - below) / (above - below)
        return self.facts_s[below] * (1 - share) + self.facts_s[above] * share


def row(ranks: int, measured: Measured, assumed: Assumed) -> list[str]:
    nodes = -(-ranks // assumed.ranks_per_node)
    rate = min(nodes * measured.node_rate, assumed.file_system_rate)
    payload_s = ranks * RANK_BYTES / 1e9 / rate
    facts_s, words_s = measured.facts_of(ranks), 3 * ranks * assumed.word_us * 1e-6
    names_s = ranks / assumed.names_per_s
    one, many = measured.fixed_s + facts_s + words_s + payload_s, measured.fixed_s + names_s + payload_s
    cells = [f"{ranks * RANK_BYTES / 1e9:,.1f} GB", f"{payload_s:.2f} s", f"{facts_s:.3f} s", f"{words_s:.3f} s"]
    return [f"{ranks}", *cells, f"{names_s:.2f} s", f"{one:.2f} s", f"{many:.2f} s", f"{many / one:.2f}"]


HEADS = ["ranks", "payload", "at the rate", "facts, rank 0", "words to rank 0", "names of a file per rank"]
HEADS += ["one file", "a file per rank", "one file is faster by"]


def as_table(measured: Measured, assumed: Assumed) -> str:
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    lines += [f"| {' | '.join(row(ranks, measured, assumed))} |" for ranks in (1, 4, 16, 64, 256, 1024, 4096, 8192)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_table(Measured.read(), Assumed()))
