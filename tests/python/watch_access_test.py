"""The page of a run for who has no mouse, sees few colours, or reads it in the dark. A real browser judges."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browsing import Tab, tab
from matplotlib.image import imread
from recording import record
from watching import watched

CONFIG = 'isotope = "181Hf"\nplaces = "axes"\nrange = [-150, 150]\ndelays = [0, 0, 0, 0, 0, 0]\n'
CONTROLS = ["counts-scale", "proposal-kind", "proposal-table", "proposal-from", "proposal-to", "proposal-ask"]
FOCUSED = "(() => { const it = document.activeElement, style = getComputedStyle(it);"
FOCUSED += " return [it.id || it.className || it.tagName, parseFloat(style.outlineWidth), style.outlineStyle] })()"
SERIES = ("first", "second", "third")
COLOURS = (*SERIES, "text", "quiet", "bad", "ground", "card", "bad-ground")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("access")
    record(folder / "run.h5", "--waveforms", "none", "--isotope", "181Hf", "--records", 20_000)
    (folder / "tdpac.toml").write_text(CONFIG)
    with watched(folder / "run.h5", "--config", folder / "tdpac.toml") as server, tab(folder / "profile") as browser:
        browser.open(server.url, 1400, 1500)
        browser.until("document.getElementById('state')?.textContent == 'read to its end'")
        browser.until("!document.getElementById('proposal-section').hidden")
        yield browser


def press(page: Tab, key: str, code: int) -> None:
    more = {"text": "\r"} if key == "Enter" else {}
    given = {"key": key, "code": key, "windowsVirtualKeyCode": code}
    page.call("Input.dispatchKeyEvent", type="keyDown", **given, **more)
    page.call("Input.dispatchKeyEvent", type="keyUp", **given)


def test_all_that_can_be_operated_is_reached_by_the_keyboard(page: Tab) -> None:
    page.value("document.activeElement.blur()")
    press(page, "Tab", 9)
    assert page.value(FOCUSED)[0] == "skip"
    press(page, "Enter", 13)
    assert page.value("document.activeElement.id") == "alarms"
    reached = []
    while len(reached) < 30 and CONTROLS[-1] not in reached:
        press(page, "Tab", 9)
        name, width, style = page.value(FOCUSED)
        assert style != "none", f"that {name} has the focus cannot be seen"
        assert width >= 1
        reached.append(name)
    assert [each for each in reached if each in CONTROLS] == CONTROLS


def test_a_window_is_proposed_without_a_mouse(page: Tab) -> None:
    page.value("document.getElementById('proposal-from').focus()")
    page.value("document.getElementById('proposal-from').value = '125'")
    page.value("document.getElementById('proposal-to').value = '141'")
    press(page, "Enter", 13)
    page.until("document.getElementById('proposal-toml').textContent.includes('[125, 141]')")


def luminance(colour: np.ndarray) -> float:
    """As the Web Content Accessibility Guidelines 2.2 define it, of sRGB from 0 to 1."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """CIE 1976, of sRGB from 0 to 1 under D65."""
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

    def lab(colour: np.ndarray) -> np.ndarray:
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        parts = matrix @ linear / [0.9505, 1, 1.089]
        x, y, z = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return float(np.linalg.norm(lab(one) - lab(other)))


def seen(page: Tab, scheme: str, deficiency: str, folder: Path) -> dict[str, np.ndarray]:
    """Returns the colours of the page as the browser shows them to eyes with a deficiency."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.value(
        f"""(() => {{ const box = document.createElement('div'); box.id = 'swatches';
        box.style = 'position: fixed; left: 0; top: 0; z-index: 99; display: flex';
        for (const name of {json.dumps(COLOURS)}) {{ const each = document.createElement('i');
          each.style = `width: 20px; height: 20px; background: var(--${{name}})`; box.append(each); }}
        document.getElementById('swatches')?.remove(); document.body.append(box); }})()"""
    )
    page.call("Emulation.setEmulatedVisionDeficiency", type=deficiency)
    page.value("scrollTo(0, 0)")
    page.screenshot(folder / "seen.png", whole=False)
    picture = imread(folder / "seen.png")
    return {name: np.asarray(picture[10, 20 * at + 10, :3], float) for at, name in enumerate(COLOURS)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_have_contrast(page: Tab, tmp_path: Path, scheme: str) -> None:
    """4.5 for texts and 3 for graphics (Web Content Accessibility Guidelines 2.2, 1.4.3 and 1.4.11)."""
    colours = seen(page, scheme, "none", tmp_path)
    is_dark = luminance(colours["ground"]) < 0.2
    assert is_dark == (scheme == "dark")
    for text, ground in itertools.product(("text", "quiet", "bad"), ("ground", "card")):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["bad"], colours["bad-ground"]) >= 4.5
    for series, ground in itertools.product(SERIES, ("ground", "card")):
        assert contrast(colours[series], colours[ground]) >= 3, (series, ground)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("deficiency", ["none", "protanopia", "deuteranopia", "tritanopia", "achromatopsia"])
def test_lines_are_told_apart_by_all_eyes(page: Tab, tmp_path: Path, scheme: str, deficiency: str) -> None:
    """Two differ by 10 at least (CIE 1976); where colours do not tell them apart, their brightness does."""
    colours = seen(page, scheme, deficiency, tmp_path)
    for one, other in itertools.combinations(SERIES, 2):
        assert difference(colours[one], colours[other]) > 10, (one, other)
