"""Keeps the results of the study: the report goes into README.md between two markers, the rest beside it."""

import shutil
from pathlib import Path

README = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).with_name("results")
KEPT = ("summary.json", "settings.json", "uniform.png", "waveforms.png")
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"

LINKS = """

[summary.json](results/summary.json) has these figures, [settings.json](results/settings.json) the settings."""


def keep(folder: Path) -> None:
    for name in KEPT:
        if (folder / name).exists():
            shutil.copy(folder / name, RESULTS / name)
    before, _, rest = README.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    text = (folder / "report.md").read_text().replace("](", "](results/")  # its pictures lie there
    text = text.partition("\n")[2].strip() + LINKS  # without its heading
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
