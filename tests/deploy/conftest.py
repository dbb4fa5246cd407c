"""Fixtures: a node of its own for each test, with the root of an image."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster import needed
from kubelet import Controller
from node import Image, Node, image_of_this_machine
from readouts import LINKS, OnNode, overlay

MakeReadout = Callable[..., OnNode]


@pytest.fixture
def make_readout(tmp_path: Path, repository: Path) -> Iterator[MakeReadout]:
    """Makes readouts on nodes; their containers, networks and mounts end with the test. Only root may do that."""
    if os.geteuid() != 0:
        pytest.skip("containers are run as root only: run `make check-deploy` as root")
    made: list[OnNode] = []
    built = needed(repository / "build" / "apiserver" / "seccomp.json", "run `make check-deploy`, which makes it")
    seccomp = json.loads(built.read_text())

    def make(
        handlers: int = 1,
        image: Image | None = None,
        links: int = LINKS,
        edits: dict[str, str] | None = None,
        **options: int,
    ) -> OnNode:
        folder = tmp_path / f"node{len(made)}"
        documents = overlay(folder / "overlay", handlers, links=links, edits=edits)
        node = Node(folder, image or image_of_this_machine(folder), **options)
        made.append(OnNode(Controller(node, documents, seccomp), documents, handlers, links))
        return made[-1]

    yield make
    for each in made:
        each.controller.close()
        each.controller.node.close()
