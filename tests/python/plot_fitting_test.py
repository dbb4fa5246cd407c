"""Pictures: nothing is cut at the edge, no name hides another one, and what is left out stands in the picture."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import thalweg as tw
from thalweg.cli._find_signals import signals_of
from thalweg.cli._fitting import short_names, shorten
from thalweg.cli.plot import plot

_EDGE_PX = 2.0  # by which a text may reach beyond the picture: its last letter has a margin
UNIT = "channels of the trapezoidal filter that the digitizer computes"


def write(path: Path, names: list[str], rows: int = 20, samples: int = 50) -> None:
    row = {
        "timestamp": tw.uint64(unit="ns"),
        "energy": tw.uint32(unit=UNIT),
        "waveform": tw.array(tw.uint16(unit="ADC"), samples),
    }
    random = np.random.default_rng(1)
    with tw.create(path, dict.fromkeys(names, row)) as out:
        for name in names:
            with out.producer(name) as producer:
                waveforms = random.normal(2000, 50, (rows, samples)).astype(np.uint16)
                energies = random.normal(1.5e6, 1e5, rows).astype(np.uint32)
                producer.append(timestamp=np.arange(rows, dtype=np.uint64), energy=energies, waveform=waveforms)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved while the test runs."""
    saved: list[Figure] = []
    save = Figure.savefig

    def keep(self: Figure, *arguments: object, **options: object) -> None:
        save(self, *arguments, **options)
        saved.append(self)

    monkeypatch.setattr(Figure, "savefig", keep)
    return saved


def texts(figure: Figure) -> list[Text]:
    return [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()]


def is_title(axes: Axes, each: Artist) -> bool:
    return isinstance(each, Text) and bool(each.get_text()) and each.get_text() == axes.get_title(loc="left")


def words(figure: Figure) -> str:
    return " ".join(" ".join(each.get_text() for each in texts(figure)).split())


@pytest.mark.parametrize("count", [1, 3, 14])
@pytest.mark.parametrize("form", ["ch{}", "detectors/germanium/string/channel_{}/raw", "x" * 70 + "_{}_" + "y" * 70])
def test_nothing_is_cut_at_the_edge(tmp_path: Path, figures: list[Figure], count: int, form: str) -> None:
    path = tmp_path / f"{'a_long_name_of_a_run_' * 8}.h5"
    write(path, [form.format(i) for i in range(count)])
    plot([str(path)], out=tmp_path / "run.png")
    (figure,) = figures
    figure.draw_without_rendering()
    whole = figure.bbox
    drawn = [axes for axes in figure.get_axes() if axes.get_visible()]
    lines = [each for each in figure.texts if each.get_text()]
    assert len(lines) == 2  # the name of the file, and what is left out
    for place in [each.get_window_extent() for each in lines] + [each.get_tightbbox() for each in drawn]:
        assert place.x0 > -_EDGE_PX
        assert place.x1 < whole.x1 + _EDGE_PX
        assert place.y0 > -_EDGE_PX
        assert place.y1 < whole.y1 + _EDGE_PX
    assert all(axes.get_window_extent().width > 0.15 * whole.width for axes in drawn)  # names leave room for curves
    titles = [each.get_window_extent() for axes in drawn for each in axes.get_children() if is_title(axes, each)]
    for i, one in enumerate(titles):
        assert not any(one.overlaps(other) for other in titles[i + 1 :])


def test_what_is_left_out_is_in_the_picture(tmp_path: Path, figures: list[Figure]) -> None:
    path = tmp_path / "run.h5"
    write(path, [f"d/ch{i}/raw" for i in range(14)], rows=8, samples=9000)
    plot([str(path)], out=tmp_path / "run.png", rows=6)
    said = words(figures[0])
    assert "The tables are d/…/raw." in said
    assert "Tables: the first 12 of 14." in said
    assert "Pulses: the first 5 of each table." in said
    assert "Energies: of the first 6 records of each table." in said
    assert "Long pulses: one sample of 2." in said


def test_rows_that_a_spectrum_does_not_show_are_said_where_they_cover_nothing(
    tmp_path: Path, figures: list[Figure], thalweg_command: Any
) -> None:
    """The peak is at the right end of the axis, where a text would lie on it."""
    path = tmp_path / "run.h5"
    energies = np.random.default_rng(1).normal(1000, 5, 3000).astype(np.float32)
    energies[:700] = np.nan
    energies[-1] = 9e9
    row = {"energy": tw.float32}
    with tw.create(path, {"left": row, "right": row}) as out:
        out.producer("left").append(energy=energies)
        out.producer("right").append(energy=energies[701:-1])
    sentence = "Not in the spectra: left: 700 without a value and 3 outside, of 3,000 rows"
    plot([str(path)], out=tmp_path / "run.png", table=["left"])
    (below,) = [each for each in texts(figures[0]) if sentence in " ".join(each.get_text().split())]
    drawn = [axes for axes in figures[0].get_axes() if axes.get_visible()]
    assert not any(below.get_window_extent().overlaps(axes.get_tightbbox()) for axes in drawn)
    assert not any(axes.texts for axes in drawn)
    facts = json.loads(thalweg_command("plot", path, "--table", "left", "--json").stdout)
    assert facts["notes"] == [f"{sentence}."]
    assert sentence in " ".join(thalweg_command("plot", path).stdout.split())


def test_a_picture_of_everything_says_nothing(tmp_path: Path, figures: list[Figure]) -> None:
    path = tmp_path / "run.h5"
    write(path, ["ch0", "ch1"], rows=5)
    plot([str(path)], out=tmp_path / "run.png")
    assert "first" not in words(figures[0]).replace("since the first record", "")
    with tw.open(path) as run:
        assert signals_of(run["ch0"])
    assert mpl.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]


def test_names_differ_after_they_are_shortened() -> None:
    assert short_names(["a/x/raw", "a/y/raw"]) == ({"a/x/raw": "x", "a/y/raw": "y"}, "The tables are a/…/raw.")
    assert short_names(["a/b", "a/b/c"])[0] == {"a/b": "b", "a/b/c": "b/c"}
    assert short_names(["a", "a/b"]) == ({"a": "a", "a/b": "a/b"}, "")
    assert short_names(["only/one"]) == ({"only/one": "only/one"}, "")
    assert shorten("channel_1027200", 9) == "chan…7200"
    assert shorten("ch0", 3) == "ch0"
