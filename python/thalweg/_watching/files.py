"""The files of the page."""

from importlib import resources

from thalweg._base.errors import UsageError

_FILES = ("index.html", "watch.js", "charts.js", "proposal.js", "watch.css", "uPlot.iife.min.js", "uPlot.min.css")


def page_files() -> dict[str, bytes]:
    """Returns the files of the page. Raises UsageError if this installation does not have all of them."""
    folder = resources.files("thalweg._watching") / "page"
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"thalweg watch cannot run ({missing[0]} is missing, since the package was built without npm): install "
            "npm and build it again, or install a wheel"
        )
    return {name: (folder / name).read_bytes() for name in _FILES}
