"""The page of `thalweg serve` that draws a waveform over its time axis."""

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from browsing import browser
from live_runs import OFTEN, when
from serving import Shown, shown

import thalweg as tw
from thalweg import _core
from thalweg.cli._plot_page import Plots

SAMPLES = 30_000
SCHEMA = {
    "ch0": {"energy": tw.float32, "waveform": tw.waveform(tw.uint16, SAMPLES)},
    "ch1": {"adc": tw.list_(tw.int16)},
    "slow": {"x": tw.float32},
}
ROWS = 40


def values_of(row: int) -> np.ndarray:
    values = np.random.default_rng(row).integers(1000, 1512, SAMPLES).astype(np.uint16)
    values[10_000 + row : 10_400] = 9000
    return values


def append(out: tw.Writer) -> None:
    with out.producer("ch0") as producer:
        values = np.stack([values_of(row) for row in range(ROWS)])
        producer.append(
            energy=np.arange(ROWS, dtype=np.float32),
            waveform={"t0": np.full(ROWS, -80.0), "dt": np.full(ROWS, 8.0), "values": values},
        )
    with out.producer("ch1") as producer:
        producer.append(adc=[[1, 5, -3], [], [7]])


@pytest.fixture(scope="module", params=[".h5", ".root"])
def open_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("shown") / f"run & one{request.param}"
    with tw.create(path, SCHEMA, tuning={**OFTEN, "wide_page_bytes": SAMPLES * 4}) as out:
        append(out)
        when(lambda: len(tw.open(path)["ch0"]) == ROWS)
        yield path


@pytest.fixture(scope="module")
def server(open_run: Path) -> Iterator[Shown]:
    with shown(open_run.parent) as server:
        yield server


def page(server: Shown, query: str = "", status: int = 200) -> str:
    image = next(iter(server.runs().values()))["image"]
    answer = server.get(image.replace("/images/", "/plots/") + query)
    assert answer.status == status, answer
    return answer.body.decode()


def curve(text: str) -> np.ndarray:
    found = re.search(r'<polyline points="([^"]+)"', text)
    assert found, text
    return np.array([point.split(",") for point in found[1].split()], float)


def test_an_open_run_shows_a_waveform_over_its_time_axis(server: Shown) -> None:
    listed = server.get("/").body.decode()
    link = re.search(r'href="(/plots/[^"]+)">waveforms', listed)
    assert link
    text = server.get(unescape(link[1])).body.decode()
    assert "row 39 of 40" in text
    assert "time (µs)" in text
    assert ">adc<" in text
    assert re.findall(r'text-anchor="middle">([0-9.]+)</text>', text) == ["0", "50", "100", "150", "200"]
    places = curve(text)
    assert 1000 < len(places) < 4000
    assert (np.diff(places[:, 0]) >= 0).all()
    # The pulse, which is 361 of 30,000 samples long, is at its place.
    high = places[places[:, 1] < places[:, 1].mean() / 2]
    left, right = places[0, 0], places[-1, 0]
    expected = left + (right - left) * np.array([10_039, 10_399]) / (SAMPLES - 1)
    assert np.allclose([high[:, 0].min(), high[:, 0].max()], expected, atol=2)


def test_any_row_and_table_can_be_chosen(server: Shown) -> None:
    text = page(server, "?table=ch0&row=3")
    assert "row 3 of 40" in text
    links = {name: unescape(link) for link, name in re.findall(r'<a href="([^"]+)">(\w+)</a>', text)}
    assert set(links) == {"ch1", "first", "previous", "next", "last"}
    assert "row 4 of 40" in server.get(links["next"]).body.decode()
    of_other = server.get(links["ch1"]).body.decode()
    assert "row 2 of 3" in of_other
    assert ">sample<" in of_other
    assert len(curve(page(server, "?table=ch1&row=0"))) == 3
    assert "no samples" in page(server, "?table=ch1&row=1")


@pytest.mark.parametrize("query", ["?row=40", "?row=-1", "?row=x", "?table=none", "?table=slow", "?table=%3Cb%3E"])
def test_what_is_not_there_is_not_found(server: Shown, query: str) -> None:
    text = page(server, query, status=404)
    assert "it has" in text


def test_an_image_that_is_gone_is_not_found(server: Shown) -> None:
    assert server.get("/plots/0000-1/run.h5").status == 404


class Counted:
    """An image that counts what is read of it."""

    def __init__(self, image: _core.FileImage) -> None:
        self._image, self.size, self.bytes = image, image.size, 0

    def read_into(self, offset: int, buffer: Any) -> int:
        self.bytes += len(buffer)
        return self._image.read_into(offset, buffer)


def test_only_the_row_that_is_drawn_is_read(open_run: Path) -> None:
    image = Counted(_core.FileImage.of(str(open_run)))
    plots = Plots()

    def drawn(row: int) -> int:
        before = image.bytes
        assert f"row {row} of" in plots.page(image, "/plots/1-1/run", "run", "ch0", str(row))  # type: ignore[arg-type]
        return image.bytes - before

    drawn(0)
    assert drawn(30) < 4 * SAMPLES < image.size / 10


def test_a_browser_draws_it(server: Shown, tmp_path: Path) -> None:
    image = next(iter(server.runs().values()))["image"]
    picture = tmp_path / "picture.png"
    words = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    url = server.url.rstrip("/") + image.replace("/images/", "/plots/")
    subprocess.run([*words, "--window-size=1100,800", f"--screenshot={picture}", url], check=True, timeout=120)
    pixels = matplotlib.image.imread(picture)[:, :, :3] * 255
    curve_pixels = np.abs(pixels - [0x1F, 0x6F, 0x9F]).max(axis=2) < 40
    assert curve_pixels.sum() > 900  # a line as wide as the picture
