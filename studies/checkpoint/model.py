"""model.py: how long a checkpoint of up to 8192 ranks would take, from the measurements of one machine and assumptions.

    time of one file         fixed + plan and facts of rank 0 + words of ranks to rank 0 + payload / rate
    time of a file per rank  fixed + names / names a second + payload / rate

Both are given the same rate, because that is what the study finds on one machine: whether a parallel file system gives
one file what it gives to many is what the model does not know.
"""

import json
from dataclasses import dataclass
from pathlib import Path

RANK_BYTES = 127_000_000
SUMMARY = Path(__file__).with_name("results") / "summary.json"


@dataclass(frozen=True)
class Assumed:
    """The properties of a cluster. None of them was measured here."""

    file_system_rate: float = 22.0  # GB/s; the paper's peak of writes on CURIE, 21,000 MiB/s
    ranks_per_node: int = 16  # as on CURIE's thin nodes
    word_us: float = 5.0  # a message of some KB to rank 0, over a network
    names_per_s: float = 1400  # files created in one folder by many; measured in studies/nodes on a local disk


@dataclass(frozen=True)
class Measured:
    """The properties of the machine of the study, from its results."""

    node_rate: float  # GB/s of one file, 4 ranks
    facts_s: dict[int, float]  # rank 0 alone, by number of ranks
    fixed_s: float  # a save without payload to speak of

    @staticmethod
    def read(path: Path = SUMMARY) -> "Measured":
        variants = json.loads(path.read_text())["variants"]
        begin, end = "once: facts of ", " ranks"

        def median(variant: str, key: str) -> float:
            return float(variants[variant][key][0])

        facts = {
            int(name.removeprefix(begin).removesuffix(end)): median(name, "seconds")
            for name in variants
            if name.startswith(begin)
        }
        fixed = median("once: extents, next to nothing, 4 ranks", "seconds")
        return Measured(median("extents, 4 ranks", "GB_per_s"), facts, fixed)

    def facts_of(self, ranks: int) -> float:
        """Interpolates linearly between the measured numbers."""
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
