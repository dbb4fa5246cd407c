"""run.py [OPTIONS OF thalweg study layouts]: runs the study and writes its answers into README.md beside it.

It goes on where it was interrupted; --fresh begins anew.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
FILES = HERE.parents[1] / "build" / "layouts-study"
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"

LINKS = """

[measurements.csv](results/measurements.csv) has every measurement, [summary.json](results/summary.json) what was
counted, [settings.json](results/settings.json) what was asked for."""


def put_into_readme(readme: Path, report: Path) -> None:
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    text = report.read_text().replace("](", "](results/")  # its pictures lie there
    text = text.partition("\n")[2].strip() + LINKS  # without its heading
    readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    report.unlink()  # once is enough


def main(options: list[str]) -> int:
    thalweg = Path(sys.executable).with_name("thalweg")
    command = [str(thalweg), "study", "layouts", "--out", str(RESULTS), "--files", str(FILES), *options]
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        put_into_readme(HERE / "README.md", RESULTS / "report.md")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
