"""The picture of the Compare page: a panel for each method, on one layout."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from qafd.app.compare.comparison import Choice, Sides
from qafd.app.escaping import capitalize
from qafd.app.picture import pick, place_nodes
from qafd.app.result import explore_question, retrieve_by
from qafd.app.session import compute_shared
from qafd.graph import Graph
from qafd.knowledge import read_layer_states
from qafd.reasons import NoticeKind
from qafd.retrieve import METHODS
from qafd.retrieve.base import WET, Retrieval, RetrievedNode
from qafd.retrieve.compare import BUDGET, DEFAULT, ComparedMethod, make_column
from qafd.retrieve.methods import method_of
from qafd.retrieve.qafd import FlowDiffusion
from qafd.view.contraction import contract_passages, drawn_contracted
from qafd.view.drawing import RIBBON, Caption, Drawing, Idiom, Look, idioms_of, largest_of
from qafd.view.layout import Positions
from qafd.view.panel import panel_data
from qafd.view.placement import ASPECT as EXPLORE_ASPECT
from qafd.view.placement import place_beside, select_prominent, spread
from qafd.wording import count
from qafd.wording.panels import say_drawn, say_retrieved
from qafd.wording.reasons import word_notice

DRAWN = 40  # nodes per panel
ASPECT = 2.0
BOXES = 6  # seeds of a method that are drawn as boxes


def compare_picture(sides: Sides, drawing: Drawing) -> str | None:
    """Draw a panel for each method on one layout, and return the selected node."""
    return pick(partial(compare_panels, sides, drawing), f"compare-{sides.knowledge.name}")


def compare_panels(sides: Sides, drawing: Drawing, picked: str | None = None) -> dict[str, Any]:
    """Return the panels as `qafd.view.panel.panel_data` makes them."""
    columns = sides.comparison.columns
    empty = Retrieval(sides.plan.question, "", {}, (), (), ())
    retrievals = [column.retrieval or empty for column in columns]
    largest = [largest_of(retrieval.nodes) for retrieval in retrievals]
    idioms = list(map(idioms_of, retrievals))
    # Without its passages, a method that finds nothing else would have no picture.
    contract = drawing.contract and all(column.found for column in columns if column.retrieval)
    if contract:
        retrievals = list(map(_contract, retrievals, idioms))
    names = _list_drawable(sides)
    frozen, others, boxes = compute_shared(
        "compared", (sides.knowledge.id, sides.version, sides.plan.question, names),
        lambda: _freeze(sides, names), (sides.knowledge.id, sides.version))
    positions = place_beside(frozen, _select_prominent(retrievals).values(),
                             _near(sides.graph, retrievals), ASPECT)
    captions = []
    for column, retrieval in zip(columns, retrievals, strict=True):
        idea = sides.choice.methods[column.name].idea.split(";")[0]
        captions.append(Caption(column.label, idea, _footer(sides.choice, column, retrieval)))
    if contract:
        others = tuple(node for node in others if node.kind != "passage")
    return panel_data(
        retrievals, replace(drawing, contract=False, limit=DRAWN, aspect=ASPECT),
        positions=positions, look=Look(
            captions, others, picked, sides.choice.lone, boxes=boxes, idioms=idioms, largest=largest,
            late=positions.keys() - frozen.keys()))


def _select_prominent(retrievals: Sequence[Retrieval]) -> dict[str, RetrievedNode]:
    """Return the nodes to draw of each retrieval, by id."""
    shown: dict[str, RetrievedNode] = {}
    for retrieval in retrievals:
        shown |= {node.id: node for node in select_prominent(retrieval, DRAWN)}
    return shown


def _contract(retrieval: Retrieval, idioms: Sequence[Idiom]) -> Retrieval:
    """Contract the passages of a retrieval, except those on drawn paths."""
    passages = {node.id for node in retrieval.nodes if node.kind == "passage"}
    on_paths = set()
    for idiom in idioms:
        if idiom.shape == RIBBON:
            on_paths |= passages.intersection(idiom.nodes)
    if on_paths:
        return contract_passages(retrieval, on_paths)
    return drawn_contracted(retrieval)


def _near(graph: Graph, retrievals: list[Retrieval]) -> list[tuple[str, str]]:
    """Return the graph's edges at drawn nodes, and the edges to nodes of a method's own."""
    near = []
    for retrieval in retrievals:
        for edge in retrieval.edges:
            if edge.source not in graph.row or edge.target not in graph.row:
                near.append((edge.source, edge.target))
        for node in select_prominent(retrieval, DRAWN):
            if node.id in graph.row:
                around = graph.around(graph.row[node.id]).tolist()
                near += [(node.id, graph.ids[row]) for row in around]
    return near


def _footer(choice: Choice, column: ComparedMethod, drawn: Retrieval) -> str:
    if column.retrieval is None:
        return capitalize(str(column.error)) if column.error else ""
    size = len(drawn.nodes)
    ranked = count(len(column.retrieval.passages), "passage")
    parts = [say_retrieved(len(column.found), sum(n.state == WET for n in drawn.nodes)),
             f"{ranked} ranked, {column.tokens:,} of {choice.budget:,} tokens",
             f"{column.retrieval.work.total_milliseconds:.0f} ms"]
    parts += [word_notice(notice) for notice in column.retrieval.notices
              if notice.kind == NoticeKind.FOREIGN_UNMATCHED]
    if size > DRAWN:
        parts.append(say_drawn(DRAWN, size))
    return " · ".join(parts)


def _list_drawable(sides: Sides) -> tuple[str, ...]:
    """Return the default methods whose layers are built."""
    built = {layer.name for layer in read_layer_states(sides.knowledge) if layer.state == "built"}
    return tuple(name for name in DEFAULT if built.issuperset(METHODS[name].needs))


def _freeze(sides: Sides, names: Sequence[str]) -> tuple[Positions, tuple[RetrievedNode, ...], list[str]]:
    """Return Explore's positions for the default methods, and their first seeds.

    No parameter or choice moves a node.
    """
    graph, question = sides.graph, sides.plan.question
    columns = [make_column(name, name, partial(
        retrieve_by, sides.knowledge, graph, sides.version, method_of(name).fit_to(graph),
        sides.plan), graph, BUDGET) for name in names]
    retrievals = [column.retrieval for column in columns if column.retrieval is not None]
    boxes: set[str] = set()
    for retrieval in retrievals:
        seeds = [node for node in retrieval.nodes if node.seed]
        # passages are drawn where no name is a seed
        seeds = [node for node in seeds if node.kind != "passage"] or seeds
        seeds.sort(key=lambda node: (-node.importance, node.id))
        boxes |= {node.id for node in seeds[:BOXES]}
    view = explore_question(sides.knowledge, question, FlowDiffusion().fit_to(graph))
    known, _ = place_nodes(view)
    shown = _select_prominent(retrievals)
    positions = place_beside(known, shown.values(), _near(graph, retrievals), EXPLORE_ASPECT)
    return (spread({id: positions[id] for id in shown}, ASPECT), tuple(shown.values()),
            sorted(boxes))
