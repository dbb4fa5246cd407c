"""Judges settings of Open MPI's two components for files. Neither reports what became of a hint, so all is concluded
from the modules that the library has loaded, and from the calls.

The hints and variables that OMPIO reads: `common_ompio_file_view.c`, `common_ompio_file_open.c` and
`io_ompio_component.c` of Open MPI 4.1.
"""

from __future__ import annotations

from thalweg._base.quantities import as_bytes
from thalweg._explain.effects import Side, all_alone, are_cut, listed, side
from thalweg._trace.trace_file import Trace

Said = tuple[str, str]
KNOWN = ("cb_nodes", "cb_buffer_size", "collective_buffering")
OF_ROMIO = ("cb_config_list", "romio_", "ind_rd_buffer_size", "ind_wr_buffer_size")
NO_AGGREGATORS = "mca_fcoll_individual"


def modules_of(trace: Trace, file: int) -> list[str]:
    """Returns the modules for files that Open MPI had loaded when it had opened the file. Other MPIs, and an Open MPI
    that has them within its library, have none."""
    for each in trace.settings:
        if each["origin"] == "modules" and each["file"] == file:
            return str(each["value"]).split()
    return []


def component_of(modules: list[str]) -> str:
    """Returns "ompio", "romio", or "" if it cannot be told. The modules of OMPIO for collective calls are loaded only
    once OMPIO has been chosen for a file."""
    if any(each.startswith("mca_fcoll_") for each in modules):
        return "ompio"
    names = [each for each in modules if each.startswith("mca_io_")]
    return "romio" if names and all("romio" in each for each in names) else ""


def state_of_hint(trace: Trace, file: int, name: str, value: str) -> Said:
    """Returns the state of a hint of a file that OMPIO has opened, and the reason."""
    modules = modules_of(trace, file)
    if name not in KNOWN and (name.startswith(OF_ROMIO) or not _may_be_read(name, modules)):
        return "inert", f"OMPIO reads only {', '.join(KNOWN)}"
    if name == "cb_nodes":
        return _aggregators(trace, file, value)
    if name == "cb_buffer_size":
        return _buffer(trace, file, value)
    return "cannot be told", "the calls do not show it"


def _may_be_read(name: str, modules: list[str]) -> bool:
    """Returns whether a file system or a shared position has a hint of this name, as those of Lustre and GPFS do."""
    return name.startswith("OMPIO_") or any(each.startswith("mca_fs_") and each != "mca_fs_ufs" for each in modules)


def state_of_variable(trace: Trace, name: str, asked: str, files: list[int]) -> Said | None:
    """Returns the state of a variable of the environment, and the reason; nothing if the modules do not tell it. It is
    in effect if it is for one of the files."""
    states = [_of_file(trace, file, name, asked) for file in files]
    said = [each for each in states if each]
    if not said or len(said) < len(states):
        return None
    return min(said, key=lambda state: ("in effect", "cannot be told", "overruled", "inert").index(state[0]))


def _of_file(trace: Trace, file: int, name: str, asked: str) -> Said | None:
    modules = modules_of(trace, file)
    component = component_of(modules)
    if name == "OMPI_MCA_io" and component:
        return _chosen(modules, "mca_io_", asked)
    if name.startswith(("ROMIO_", "OMPI_MCA_io_romio")) and component == "ompio":
        return "inert", "OMPIO does not read it"
    if name.startswith(("OMPI_MCA_io_ompio_", "OMPI_MCA_fcoll", "OMPI_MCA_fs", "OMPI_MCA_fbtl", "OMPI_MCA_sharedfp")):
        if component == "romio":
            return "inert", "it belongs to OMPIO, and ROMIO opened the file"
        if component == "ompio":
            return _of_ompio(trace, file, name, asked, modules)
    return None


def _of_ompio(trace: Trace, file: int, name: str, asked: str, modules: list[str]) -> Said:
    hints = {each["name"] for each in trace.settings if each["origin"] == "asked" and each["file"] == file}
    if name == "OMPI_MCA_io_ompio_num_aggregators":
        return ("overruled", "the hint cb_nodes is used") if "cb_nodes" in hints else _aggregators(trace, file, asked)
    if name == "OMPI_MCA_io_ompio_bytes_per_agg":
        is_overruled = "cb_buffer_size" in hints
        return ("overruled", "the hint cb_buffer_size is used") if is_overruled else _buffer(trace, file, asked)
    if name == "OMPI_MCA_io_ompio_cycle_buffer_size":
        return _cycle(trace, file, asked)
    if name == "OMPI_MCA_fcoll":
        sides = _sides(trace, file)
        if not any(len(each.collective) for each in sides):
            return "inert", all_alone(sides[0]) if sides else "nothing was moved through MPI-IO"
        return _chosen(modules, "mca_fcoll_", asked)
    return "cannot be told", "the calls do not show it"


def _chosen(modules: list[str], kind: str, asked: str) -> Said:
    """Open MPI loads no module that a list of names leaves out, and none that a list with ^ names."""
    loaded = {each.removeprefix(kind) for each in modules if each.startswith(kind)}
    names = set(asked.removeprefix("^").split(","))
    is_kept = not (loaded & names) if asked.startswith("^") else loaded <= names
    said = f"of the modules {kind}*, the library has loaded {', '.join(sorted(loaded))}"
    return ("in effect" if is_kept else "overruled"), said


def _sides(trace: Trace, file: int) -> list[Side]:
    return [each for each in (side(trace, file, kind) for kind in ("write", "read")) if each.calls]


def _together(trace: Trace, file: int, number: str) -> tuple[list[Side], Said | None]:
    """Returns the directions with collective calls, and what is to be said if nothing can be concluded from them for
    this number."""
    sides = _sides(trace, file)
    together = [each for each in sides if len(each.collective)]
    if not sides:
        return [], ("inert", "nothing was moved through MPI-IO")
    if not together:
        return [], ("inert", all_alone(sides[0]))
    if "posix" not in trace.recorded or not any(each.movers for each in together):
        return [], ("cannot be told", "no data of a rank are recorded inside the collective calls")
    modules = [each for each in modules_of(trace, file) if each.startswith("mca_fcoll_")]
    if modules == [NO_AGGREGATORS]:
        return [], ("inert", "each rank moves its own pieces: the library has loaded mca_fcoll_individual alone")
    if not number.isdecimal():
        return [], ("cannot be told", f"{number!r} is no number")
    return [each for each in together if each.movers], None


def _aggregators(trace: Trace, file: int, value: str) -> Said:
    together, said = _together(trace, file, value)
    if said:
        return said
    each = together[0]
    moved = f"ranks {listed(each.movers)} moved the data of the collective {each.kind}s"
    if len(each.movers) == int(value) == 1:
        return "cannot be told", f"{moved}, which OMPIO may also choose by itself"
    if len(each.movers) == int(value):
        return "in effect", moved
    ranks = len(set(each.collective.rank.tolist()))
    if int(value) > ranks == len(each.movers):
        return "overruled", f"{moved}, and there are no more than {ranks} ranks"
    return "cannot be told", moved


def _buffer(trace: Trace, file: int, value: str) -> Said:
    together, said = _together(trace, file, value)
    if said:
        return said
    wanted, largest = int(value), max(int(each.in_collective.size.max()) for each in together)
    for each in together:
        size = int(each.in_collective.size.max())
        # OMPIO writes from two halves of the buffer in turn.
        if size in (wanted, wanted // 2) and are_cut(each, size):
            return "in effect", f"the largest {each.kind} of an aggregator has {as_bytes(size)}"
    if largest <= wanted:
        return "inert", f"no aggregator has more than {as_bytes(largest)} in a call"
    return "cannot be told", f"aggregators have up to {as_bytes(largest)} in a call"


def _cycle(trace: Trace, file: int, value: str) -> Said:
    alone = [each for each in _sides(trace, file) if len(each.independent)]
    if not alone:
        return "inert", "there are no independent reads and writes"
    inner = [each.in_independent for each in alone if len(each.in_independent)]
    if not inner or not value.isdecimal():
        return "cannot be told", "no data of a rank are recorded inside the independent calls"
    largest = max(int(each.size.max()) for each in inner)
    if largest < int(value):
        return "inert", f"no independent read or write has more than {as_bytes(largest)} in a call"
    return "cannot be told", f"independent calls have up to {as_bytes(largest)}"
