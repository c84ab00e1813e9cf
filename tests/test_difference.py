"""Differences of two runs, against sets and shares worked out by hand."""

import pytest

from qafd.reasons import UNSTATED
from qafd.retrieve.base import Imprint, Retrieval, RetrievedNode, RetrievedPassage
from qafd.runs import Run
from qafd.runs.difference import difference


def run(importance, passages=(), params=None, graph="aa", revision=1, **fields):
    """A run that retrieved the nodes with x > 0; names are ids in capitals, "p..." passages."""
    nodes = tuple(RetrievedNode(i, i.upper(), "passage" if i[0] == "p" else "entity", x, x,
                                "saturated" if x else "wet", UNSTATED) for i, x in importance.items())
    found = tuple(RetrievedPassage(c, c, "d", c, "text", 1.0, 0, 4) for c in passages)
    retrieval = Retrieval("Who?", "qafd", params or {"mass": 60.0}, (), nodes, (), (), found,
                          revision=revision, made_by=Imprint("w-1", "m", "e", "1"))
    return Run(retrieval, {}, **{"graph": graph, "tokens": 10, **fields})


def test_nodes_are_gained_lost_and_shared():
    found = difference(run({"a": 4.0, "e": 3.0, "b": 2.0, "w": 0.0}, ["p1"], tokens=7),
                       run({"a": 1.0, "c": 3.0, "b": 0.0}, ["p2"], tokens=5))
    assert [(node.id, node.importance) for node in found.gained] == [("c", 3.0)]
    assert [(node.id, node.importance) for node in found.lost] == [("e", 3.0), ("b", 2.0)]
    assert [passage.id for passage in found.passages_gained] == ["p2"]
    assert [passage.id for passage in found.passages_lost] == ["p1"]
    assert found.shared == 1
    assert found.tokens == (7, 5)
    assert not found.same


@pytest.mark.parametrize(("first", "second", "settings"), [
    pytest.param(run({"a": 1.0}), run({"a": 1.0}, params={"mass": 20.0}), [("mass", 60.0, 20.0)],
                 id="mass"),
    pytest.param(run({}), run({}, graph="bbbbbbbbb", revision=2),
                 [("graph", "1 (aa)", "2 (bbbbbbbb)")], id="graph"),
    pytest.param(run({}, graph=""), run({}, revision=2), [("graph", "1", "2")], id="unknown-graph"),
    pytest.param(run({}, revision=8), run({}, revision=9), [], id="equal-graphs-of-two-workspaces"),
    pytest.param(run({}, params={"mass": 60.0, "top": 3}), run({}, params={"top": 4, "depth": 1}),
                 [("top", 3, 4)], id="own-settings"),
])
def test_settings_that_differ_are_named_with_both_values(first, second, settings):
    found = difference(first, second)
    assert [(name, *values) for name, values in found.settings.items()] == settings
    assert found.same
