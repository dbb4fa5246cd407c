"""The pages for people: the list of runs, and a viewer."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from thalweg._serving.folder import ShownRun

_LIST = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Runs in {folder}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }}
table {{ border-collapse: collapse }} th, td {{ padding: .3em 1em .3em 0; text-align: left; vertical-align: top }}
th, td {{ border-bottom: 1px solid #ddd }} .number {{ text-align: right }} .problem {{ color: #a00 }}
</style></head><body>
<h1>Runs in {folder}</h1>
<table><tr><th>run</th><th>state</th><th>rows</th><th class="number">bytes</th><th>image</th></tr>
{rows}
</table>
<p>An image is what a run has at one time, as a complete file that never changes: give its address to a viewer. This
page makes new images when it is loaded again. <a href="/runs.json">runs.json</a> has the same for programs.</p>
</body></html>
"""

_VIEWER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>JSROOT</title></head>
<body><div id="viewer" style="position: absolute; inset: 0"></div>
<script type="module">
import { buildGUI } from "/jsroot/modules/gui.mjs";
await buildGUI("viewer");
</script></body></html>
"""


def image_address(image: str, name: str) -> str:
    return f"/images/{image}/{quote(name)}"


def plot_address(image: str, name: str) -> str:
    return f"/plots/{image}/{quote(name)}"


def list_page(folder: str, runs: Sequence[ShownRun], has_jsroot: bool, has_plots: bool) -> str:
    rows = "\n".join(_row(run, has_jsroot, has_plots) for run in runs) or "<tr><td>There is none yet.</td></tr>"
    return _LIST.format(folder=escape(folder), rows=rows)


def viewer_page() -> str:
    """Returns the page of JSROOT, which finds the file to show in its own address."""
    return _VIEWER


def _row(run: ShownRun, has_jsroot: bool, has_plots: bool) -> str:
    lines = [f"{escape(table)}: {count:,}" for table, count in run.rows.items()]
    if run.problem:
        lines.append(f'<span class="problem">{escape(run.problem)}</span>')
    address = image_address(run.image, run.name)
    links = [f'<a href="{escape(address)}">{escape(run.image)}</a>'] if run.image else []
    if run.image and has_plots:
        links.append(f'<a href="{escape(plot_address(run.image, run.name))}">waveforms</a>')
    if run.image and has_jsroot and run.name.endswith(".root"):
        links.append(f'<a href="/viewer?file={escape(quote(address))}">JSROOT</a>')
    size = f"{run.size_bytes:,}" if run.image else ""
    return (
        f"<tr><td>{escape(run.name)}</td><td>{run.state}</td><td>{'<br>'.join(lines)}</td>"
        f'<td class="number">{size}</td><td>{" ".join(links)}</td></tr>'
    )
