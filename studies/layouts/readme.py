"""The report of the study goes into README.md, between two markers."""

from pathlib import Path

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"

LINKS = """

[measurements.csv](results/measurements.csv) has every measurement, [summary.json](results/summary.json) what was
counted, [settings.json](results/settings.json) what was asked for."""


def show(report: Path) -> None:
    """Puts it there, and removes it: it is needed once."""
    before, _, rest = README.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    text = report.read_text().replace("](", "](results/")  # its pictures lie there
    text = text.partition("\n")[2].strip() + LINKS  # without its heading
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    report.unlink()
