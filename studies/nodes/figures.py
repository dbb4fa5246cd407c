"""The figures of the table, and what they should be."""

from harness.figures import Best, Figure, of_one, rate_ratio
from nodes.model import Costs
from nodes.variants import CODECS, NODES


def against_model(nodes: int) -> Figure:
    """The model, fed with what one node cost in the same round."""
    one, many = "close, 1 nodes", f"close, {nodes} nodes"
    more_s = (nodes - 1) * Costs().node_s
    return Figure(
        f"close of {nodes} nodes / the model",
        "",
        lambda each: float(each[many]["close_s"] / (each[one]["close_s"] + more_s)),
        (one, many),
    )


def all_figures(_: Best) -> list[Figure]:
    figures = [
        of_one("claims within a node, regions taken meanwhile, millions a second", "≥ 5", "claims", "claims_M_per_s")
    ]
    for codec in CODECS:
        one, two = f"1 node, 2 producers, {codec}", f"2 nodes, 1 producer, {codec}"
        figures.append(rate_ratio(f"2 nodes with a producer / 1 node with 2, {codec}", "≥ 0.97", two, one))
    plain = f"2 nodes, 1 producer, {CODECS[0]}"
    figures += [
        of_one("regions taken a GB, after the first GB of each node", "≤ 4", "2 nodes, 4 GB", "regions_per_GB_later"),
        of_one("other names created, renamed or removed in the folder, a node", "≤ 20", plain, "other_names_per_node"),
        of_one("file above what is stored, in largest regions a node", "≤ 2", plain, "regions_unused"),
        of_one("disk blocks / stored bytes", "≤ 1.01", plain, "blocks_per_stored"),
        Figure(
            "close of 4 nodes with 10⁵ pages / one node with 4·10⁵",
            "≤ 1.2",
            lambda each: each["close, 4 nodes"]["close_s"] / each["close, 1 nodes"]["close_s"],
            ("close, 4 nodes", "close, 1 nodes"),
        ),
    ]
    figures += [against_model(nodes) for nodes in NODES if nodes > 1]
    figures.append(of_one("names that 8 contenders create in one folder, a second", "", "names", "names_per_s"))
    return figures
