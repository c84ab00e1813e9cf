"""The map of a graph; passages, shared passages and joins are counted by hand."""

import pytest

from qafd.graph import Graph
from qafd.view.overview import overview


def graph(mentions: dict[str, str], passages: str) -> Graph:
    """Entities by name, each with the passages (one letter each) that mention it."""
    names = list(mentions)
    row = {letter: len(names) + i for i, letter in enumerate(passages)}
    ends = [(i, row[p]) for i, name in enumerate(names) for p in mentions[name]]
    u, v = zip(*ends, strict=True) if ends else ((), ())
    return Graph.build([*names, *passages], [*names, *passages],
                       ["entity"] * len(names) + ["passage"] * len(passages), u, v, None, "mention")


def edges(made: Graph, most: int = 80) -> dict[tuple[str, str], float]:
    return {(e.source, e.target): e.weight for e in overview(made, most).edges}


def test_importance_is_the_number_of_passages_and_weight_that_of_shared_ones() -> None:
    made = graph({"Ada": "abc", "Babbage": "bc", "Turin": "c"}, "abc")
    assert {n.id: n.importance for n in overview(made).nodes} == {
        "Ada": 3, "Babbage": 2, "Turin": 1}
    assert edges(made) == {("Ada", "Babbage"): 2, ("Ada", "Turin"): 1, ("Babbage", "Turin"): 1}


@pytest.mark.parametrize("made", [graph({}, ""), graph({}, "ab"), graph({"Ada": ""}, "")])
def test_graphs_without_edges_have_a_map_too(made: Graph) -> None:
    assert overview(made).edges == ()
