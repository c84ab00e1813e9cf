"""The first questions about a graph; expected ones are read off small graphs by hand."""

from qafd.assemble import node_id
from qafd.graph import Graph
from qafd.plan.suggest import LONGEST, questions


def graph(names: list[str], edges: list[tuple[int, int, str]], passages: tuple[str, ...] = ()
          ) -> Graph:
    """Entities of these names, passages with these titles after them, edges by place."""
    ids = [node_id("entity", name.casefold()) for name in names]
    ids += [f"p{i}" for i in range(len(passages))]
    u, v, kinds = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph.build(ids, [*names, *passages],
                       ["entity"] * len(names) + ["passage"] * len(passages), u, v, None,
                       list(kinds) or "relation")


def test_titles_come_before_better_connected_names() -> None:
    # American has four edges, the titles two and one.
    made = graph(["American", "Ada Byron", "Engine", "Luigi Menabrea"], [
        (0, 1, "relation"), (0, 2, "relation"), (0, 3, "relation"), (0, 4, "mention"),
        (1, 4, "mention"), (2, 5, "mention")], ("Engine", "Ada Byron"))
    assert questions(made) == (
        "What is said about Ada Byron?", "How are Ada Byron and American connected?",
        "What is said about Engine?")


def test_without_titles_long_names_come_first_then_the_best_connected() -> None:
    made = graph(["Rome", "Nile", "Lake Como"], [
        (0, 3, "mention"), (1, 3, "mention"), (1, 4, "mention")], ("one", "two"))
    assert questions(made) == ("What is said about Lake Como?", "What is said about Nile?")


def test_a_name_too_long_for_a_question_is_left_out() -> None:
    made = graph(["x" * (LONGEST + 1), "Nile"], [(0, 1, "relation")])
    assert questions(made) == ("What is said about Nile?",)


def test_an_empty_graph_suggests_nothing() -> None:
    assert questions(graph([], [])) == ()
