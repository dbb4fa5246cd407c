"""pandas frames as rows: what fits is appended, and of what does not the column and the row are named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thalweg as tw

FIELDS = {"x": tw.float64, "s": tw.string, "o": tw.optional(tw.int64)}


def frame(**changed: object) -> pd.DataFrame:
    return pd.DataFrame({"x": [1.0, np.nan, 3.0], "s": ["a", "", "c"], "o": pd.array([1, None, 3], "Int64")} | changed)


def test_frames_are_rows(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": FIELDS}) as out:
        producer = out.producer("t")
        producer.append(frame())
        producer.append(frame(s=pd.array(["d", "e", "f"], "string"), o=[None, None, None]))
        producer.append(frame(x=pd.array([7.0, 8.0, 9.0], "float64[pyarrow]")).iloc[1:])
    rows = tw.open(tmp_path / "run.h5")["t"].read()
    np.testing.assert_array_equal(rows["x"], [1, np.nan, 3, 1, np.nan, 3, 8, 9])
    assert rows["s"].tolist() == ["a", "", "c", "d", "e", "f", "", "c"]
    assert rows.to_arrow()["o"].to_pylist() == [1, None, 3, None, None, None, None, 3]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": [1.0, "two", 3.0]}, "column 'x', row 1 of this append: 'two' is not a number"),
        ({"x": [1.0, 2.0, object()]}, "column 'x', row 2 of this append: <object object at"),
        ({"x": [1.0, None, "three"]}, "column 'x', row 1 of this append: None is not a number"),
        ({"s": ["a", 5, "c"]}, "column 's', row 1 of this append: 5 is not a string"),
        ({"s": pd.array(["a", None, "c"], "string")}, "column 's': item 1 of the Arrow array is null"),
        ({"o": [1, "two", None]}, "column 'o"),
        ({"y": [1, 2, 3]}, "there is no field 'y'"),
    ],
    ids=range(7),
)
def test_what_does_not_fit_is_named(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    with tw.create(tmp_path / "run.h5", {"t": FIELDS}) as out:
        producer = out.producer("t")
        with pytest.raises(tw.UsageError, match="table 't'") as error:
            producer.append(frame(**changed))
        assert said in str(error.value)
        producer.append(frame())
    assert len(tw.open(tmp_path / "run.h5")["t"]) == 3
