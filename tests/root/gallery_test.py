"""The page of the gallery that uses ROOT: its blocks run in their order, those with ROOT in ROOT's own Python."""

import re
import subprocess
import sys
from pathlib import Path

from root_process import ROOT_FOLDER

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_on_rdataframe_runs(repository: Path, tmp_path: Path) -> None:
    printed = []
    for number, block in enumerate(BLOCK.findall((repository / "docs" / "gallery" / "rdataframe.md").read_text())):
        (tmp_path / f"block{number}.py").write_text(block)
        python = ROOT_FOLDER / "bin" / "python" if "import ROOT" in block else sys.executable
        words = [str(python), "-W", "ignore::UserWarning:ROOT", f"block{number}.py"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        printed.append(done.stdout)
    _, in_root, in_awkward = printed
    assert in_root.split(",")[0] == in_awkward.strip()
