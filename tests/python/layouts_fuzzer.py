"""layouts_fuzzer.py [--seconds S] [--seed N] [--found FOLDER]: any documents as models of events.

A document makes a model that can be planned with every layout, or UsageError says what is wrong with it: nothing else.
A fuzz target of `make fuzz`. The parser is Python's, and libFuzzer would find no branches in it; so documents are made
here, by changes of good ones. The exit code is 1 where one was found, which is kept in FOLDER.
"""

import argparse
import random
import sys
import time
from pathlib import Path

from event_document import TOML

import thalweg as tw
from thalweg.layouts import ALL, load_model, plan

SEEDS = (
    TOML + 'hits = ["hits", "wires.times"]\n',
    """
[products]
"a.b" = ["float64"]
flags = { type = "bool", shape = [2, 3], description = "one a cell" }
header = { number = "uint16", time = { type = "float64", unit = "s" } }
""",
)
# What may stand where a value does; some of it is good.
VALUES = (
    *(
        "3",
        "-1",
        "0",
        "1e400",
        "nan",
        "true",
        "1979-05-27",
        "07:32:00",
        '""',
        '"uint8"',
        '"string"',
        '"list"',
        '"\\u0000"',
    ),
    *("[]", "[[]]", '["uint8"]', '["uint8", 3]', "{}", '{ type = "uint8" }', "{ list = {} }", "{ struct = 1 }"),
    *('{ type = "uint8", shape = 3 }', '{ type = "uint8", shape = ["x"] }', '{ type = "uint8", shape = [-1] }'),
    *('{ type = "uint8", shape = [] }', '{ type = "uint8", unit = 1 }', '{ list = "uint8", description = [] }'),
    *('{ type = "uint8", shape = [9223372036854775807, 9223372036854775807] }', '"object"', '"U3"', '"(2,)i4"'),
    *('"datetime64[ns]"', '">f4"', '"i4,f8"', '"(2,"', '"float128"', "9223372036854775808", '"wires"', '"wires.rois"'),
)
DEEP = 3000


def changed(document: str, chance: random.Random) -> bytes:
    """Lines, values and bytes that are lost, doubled, moved or others."""
    for _ in range(chance.randint(1, 3)):
        lines = document.splitlines()
        at = chance.randrange(len(lines)) if lines else 0
        match chance.randrange(8):
            case 0 if lines:
                del lines[at]
            case 1 if lines:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 2 if lines:
                lines[at] = lines[at].partition("=")[0] + "= " + chance.choice(VALUES)
            case 3:
                name = chance.choice(("products", "groups", "products.hits", "groups.rois", "x", "type", '""'))
                lines.insert(at, chance.choice((f"[{name}]", f"[[{name}]]", f"{name} = {chance.choice(VALUES)}")))
            case 4 if lines and chance.random() < 0.1:
                lines[at] = "x = " + "[" * DEEP + chance.choice(("]" * DEEP, ""))
            case 5 if lines:
                lines[at] = lines[at].replace("uint", chance.choice(("float", "", "int")))
            case 6 if lines and lines[at]:
                first = chance.randrange(len(lines[at]))
                lines[at] = lines[at][:first] + chance.choice("\"'{}[]=.,#x\0") + lines[at][first + 1 :]
            case _:
                other = chance.choice(SEEDS).splitlines()
                lines[at:at] = other[chance.randrange(len(other)) :]
        document = "\n".join(lines)
    content = bytearray(document.encode())
    if content and chance.random() < 0.1:
        content[chance.randrange(len(content))] = chance.randrange(256)
    return bytes(content)


def fault(content: bytes, path: Path) -> str:
    """What is wrong with how this document is taken; empty: nothing."""
    path.write_bytes(content)
    try:
        model = load_model(path)
        for layout in ALL:
            plan(model, layout)
    except tw.UsageError as error:
        return "" if str(error) else "an error without a word"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def document(seed: int) -> bytes:
    chance = random.Random(seed)
    return changed(chance.choice(SEEDS), chance)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1000)
    parser.add_argument("--found", type=Path, default=Path())
    wanted = parser.parse_args()
    end = time.monotonic() + wanted.seconds
    seed, found = wanted.seed, 0
    path = wanted.found / "layouts-input.toml"
    while time.monotonic() < end and found == 0:
        content = document(seed)
        if said := fault(content, path):
            found += 1
            kept = wanted.found / f"layouts-{seed}.toml"
            kept.write_bytes(content)
            print(f"{kept}: {said}", flush=True)
        seed += 1
    path.unlink(missing_ok=True)
    print(f"inputs: {seed - wanted.seed}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
