"""The first questions about a graph; expected ones are read off small graphs by hand."""

from qafd.graph import Graph
from qafd.plan.suggest import LONGEST, questions
from qafd.records import node_id


def graph(names: list[str], edges: list[tuple[int, int, str]], passages: tuple[str, ...] = ()
          ) -> Graph:
    """Entities of these names, passages with these titles after them, edges by place."""
    ids = [node_id("entity", name.casefold()) for name in names]
    ids += [f"p{i}" for i in range(len(passages))]
    u, v, kinds = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph.build(ids, [*names, *passages],
                       ["entity"] * len(names) + ["passage"] * len(passages), u, v, None,
                       list(kinds) or "relation")


def test_a_name_too_long_for_a_question_is_left_out() -> None:
    made = graph(["x" * (LONGEST + 1), "Nile"], [(0, 1, "relation")])
    assert questions(made) == ("Who or what is Nile?",)


def test_an_empty_graph_suggests_nothing() -> None:
    assert questions(graph([], [])) == ()
