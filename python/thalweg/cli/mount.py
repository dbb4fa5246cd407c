"""thalweg mount"""

from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.packages import needed
from thalweg.cli._output import as_epilog, say

EXAMPLES = ["thalweg mount . ../shown"]


def mount(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the runs, with the folders in it.")],
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Empty folder in which the runs are shown.")],
) -> int:
    """Show the runs of a folder as complete files in another folder, also while they are written.

    Every program can open the files there: whatever opens one gets what the run has then, and goes on seeing that. Open
    it again to see newer rows. Nothing can be written there. A mount that was left by a killed process is cleared.

    Ctrl-C ends the command and the mount. It needs pyfuse3: install the packages fuse3 and libfuse3-dev, and then
    pip install 'thalweg[mount]'.
    """
    with needed("thalweg mount cannot run"):
        from thalweg._serving import mount as mounting
        from thalweg._serving.folder import ShownFolder

    mounting.mount(ShownFolder(folder), place, lambda: say(f"{folder} is shown in {place} (Ctrl-C ends this)"))
    return 0


def register(app: typer.Typer) -> None:
    app.command("mount", epilog=as_epilog(EXAMPLES))(mount)
