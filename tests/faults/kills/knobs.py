"""Draws knobs at random: any of the table of knobs, within its range and within what a short run can bear."""

import random

import thalweg as tw
from thalweg import _core

CODECS = {
    ".h5": ["none", "lz4", "bitshuffle+lz4", "bitshuffle+zstd-1", "shuffle+deflate-1", "zstd-3"],
    ".root": ["none", "zstd-1", "zstd-5", "lz4", "deflate-1", "plain+zstd-1"],
}
OWN: dict[str, list[str]] = {
    "engine": ["auto", "uring", "threads", "posix"],
    "threads": ["0", "1", "2"],
    "queue_depth": ["1", "2", "8"],
    "min_buffers": ["2", "3", "5"],
    "unbuffered_bytes": ["0 B", "16 KiB", "1 MiB"],
    "ring_size": ["8", "64", "1024"],
    "interim_footer_share": ["0", "0.01", "1"],
    "allocate_ahead_bytes": ["1 MiB", "16 MiB", "64 MiB"],
    "rows_budget_bytes": ["0 B", "64 KiB", "4 MiB", "32 MiB"],
    "memory_folder": ["auto"],
}


def random_tuning(chance: random.Random, extension: str, place: str) -> dict[str, str]:
    chosen = {}
    for knob in _core.knobs():
        if chance.random() < 0.4 and (text := _random_value(chance, knob, extension)):
            chosen[knob.name] = text
    if place == "memory":
        chosen.pop("engine", "")  # tmpfs has only one
    chosen["flush_interval"] = f"{chance.choice([5, 20, 100, 1000])} ms"  # a short run has many of the short ones
    return chosen


def _random_value(chance: random.Random, knob: _core.Knob, extension: str) -> str:
    """Returns a value for this knob, or an empty text to leave it unchanged."""
    if knob.name in OWN:
        return chance.choice(OWN[knob.name])
    if knob.name.endswith("codec"):
        return chance.choice(CODECS[extension])
    if knob.type.startswith("yes"):
        return chance.choice(["yes", "no"])
    if not knob.type.startswith("size"):
        return ""
    # A reader in Python needs a millisecond for each cluster of each column.
    text = f"{int(2 ** chance.uniform(14 if knob.name == 'cluster_bytes' else 9, 22))} B"
    try:
        tw.Tuning({knob.name: text})
    except tw.UsageError:
        return ""  # outside its range
    return text
