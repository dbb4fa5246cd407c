"""What a user writes, for a type checker: tests/python/typed_test.py runs mypy on it, and Python."""

import sys
from typing import assert_type

import numpy as np

import thalweg as tw

schema = tw.schema({"t": {"x": tw.float32, "tags": tw.list_(tw.uint8), "at": tw.datetime64("s")}})
with tw.create(sys.argv[1], schema) as out:
    assert_type(out, tw.Writer)
    producer = out.producer("t")
    assert_type(producer, tw.Producer)
    producer.append(x=np.ones(3, np.float32), tags=[[1], [], [2, 3]], at=np.zeros(3, "M8[s]"))
run = tw.open(sys.argv[1])
assert_type(run, tw.Run)
table = run["t"]
assert_type(table, tw.Table)
assert_type(table["x"], tw.Column)
assert_type(table[1:2], tw.Table)
assert_type(table.read(), tw.Rows)
assert_type(table.read()[1:], tw.Rows)
assert_type(len(table), int)
assert_type(table.keys(), list[str])
assert_type(run.column("t/x"), tw.Column)
assert_type(run.column("t/x").shape, tuple[int, ...])
assert_type(run.parts, tuple[tw.Run, ...])
assert_type(tw.open([sys.argv[1]]), tw.Run)
assert_type(out.report, tw.RunReport)
for batch in table.batches(rows=2):
    assert_type(batch, tw.Rows)
for new in run.follow():
    assert_type(new, tw.NewRows)
    assert_type(new.rows, tw.Rows)
assert_type(run.is_open, bool)
assert_type(tw.verify(sys.argv[1]), tw.Verification)
print(len(table))
