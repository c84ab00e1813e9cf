"""The tab What if: the losses and gains when something is removed."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from qafd.answer.change import AnswerChange, Quoted
from qafd.app import markup
from qafd.app.component import panels
from qafd.app.escaping import plain, safe
from qafd.app.explore.explanation import explanation_of
from qafd.app.picture import chosen_drawing, place_nodes
from qafd.app.result import View
from qafd.app.session import bound
from qafd.app.tables import SHARE_BAR, columns_of, table
from qafd.explain import Explanation
from qafd.explain.paths import row_name
from qafd.explain.sensitivity import Sensitivity
from qafd.explain.whatif import Change, Effect
from qafd.retrieve.base import RankedPassage, RetrievedNode
from qafd.view.drawing import Caption, Look, largest_of, share_of
from qafd.view.panel import panel_data, shown_name
from qafd.view.placement import add_new
from qafd.wording import count, count_words
from qafd.wording.answers import say_change
from qafd.wording.panels import say_percent

EDGES = 60
KINDS = {"document": "Document", "edge": "Edge", "seed": "Seed"}
EACH = 3  # of a kind that are listed


def whatif_tab(view: View) -> None:
    """Draw the sources that the result depends on, and the effect of a change."""
    explanation = explanation_of(view)
    if not explanation.full:
        st.write("Nothing is retrieved; raise the mass.")
        return
    if view.retrieval.parts:
        st.caption(f"A change is made for all {len(view.retrieval.parts)} diffusions: each is "
                    "solved again, and their nodes are united again.")
    _attribution(view, explanation)
    change = _change(explanation)
    if change == Change():
        st.caption("Choose something to take out or to change: the question is then solved "
                    "again, exactly, and both results are drawn side by side.")
        return
    _difference(view, explanation.what_if(change))


def _attribution(view: View, explanation: Explanation) -> None:
    """Draw the documents, edges and seeds that most mass passes, and the loss without them."""
    found = explanation.sensitivities()
    foremost: list[Sensitivity] = []
    for kind in KINDS:
        foremost += [one for one in found if one.kind == kind][:EACH]
    if not foremost:
        return
    first = foremost[0]
    loss = explanation.what_if(_without(first))
    st.write(f"**{first.share:.0%}** of the mass rests on "
              f"**{plain(_thing(explanation, first))}**: without it, {len(loss.lost)} of "
              f"{count(explanation.full, 'node')} would be lost and {len(loss.gained)} "
              f"gained. {plain(say_change(_answers(view, loss)))}")
    with st.expander("Most important sources"):
        _attributions(explanation, foremost)


def _attributions(explanation: Explanation, foremost: Sequence[Sensitivity]) -> None:
    rows = [(KINDS[one.kind], _thing(explanation, one), one.share, one.elasticity)
            for one in foremost]
    names = ("kind", "what", "mass that passes it", "importance lost per 1% of that mass")
    table(columns_of(names, rows), formats={names[3]: "%.2f%%"}, column_config={names[2]: SHARE_BAR})
    st.caption("The last column is the exact derivative of the solution: were one percent of "
                "what passes there lost, the importance of all that is found beyond the "
                "seeds would fall by so much.")


def _without(one: Sensitivity) -> Change:
    """Return the change that removes a document, an edge or a seed."""
    if one.kind == "edge":
        return Change(edges=frozenset([(one.rows[0], one.rows[1])]))
    rows = frozenset(one.rows)
    return Change(seeds=rows) if one.kind == "seed" else Change(nodes=rows)


def _thing(explanation: Explanation, one: Sensitivity) -> str:
    if one.kind == "document":
        return one.name
    return " – ".join(row_name(explanation.graph, row) for row in one.rows)


def _change(explanation: Explanation) -> Change:
    """Return the change that the controls describe."""
    retrieval = explanation.retrieval
    names = {n.id: shown_name(n) for n in retrieval.nodes}
    widest = sorted(retrieval.edges, key=lambda e: -e.flow)[:EDGES]
    edges = {f"{e.source}|{e.target}": f"{names[e.source]} – {names[e.target]}" for e in widest}
    left, right = st.columns(2, gap="medium")
    with left:
        documents = _several("Without documents", "no_doc",
                             {name: name for name in explanation.documents})
        seeds = _several("Without seeds", "no_seed", {n: names[n] for n in retrieval.seeds})
    with right:
        nodes = _several("Without nodes", "no_node", names)
        gone = _several("Without edges", "no_edge", edges)
    pairs = []
    for pair in gone:
        u, v = pair.split("|")
        pairs.append((u, v))
    return explanation.change(nodes=nodes, documents=documents, seeds=seeds, edges=pairs)


def _several(label: str, key: str, options: dict[str, str]) -> list[str]:
    return st.multiselect(label, list(options), **bound(key), format_func=options.__getitem__)


def _answers(view: View, difference: Effect) -> AnswerChange:
    """Draw the change of the quoted answer; no model is asked."""
    same = difference.before.ranking == view.retrieval.ranking
    return AnswerChange.of(
        view.answer if same else view.knowledge.answer(difference.before, view.plan),
        view.knowledge.answer(difference.after, view.plan))


def _difference(view: View, difference: Effect) -> None:
    answers, after = _answers(view, difference), difference.after
    st.write(f"**{plain(say_change(answers))}**")
    _both(("Leaves the answer", "Enters the answer"), (answers.left, answers.came),
          _quotes)
    st.write(count_words(
        len(difference.lost), "**{number}** node lost, **{gained}** gained; {passages_lost} of the "
        "first passages lost, {passages_gained} gained.",
        "**{number}** nodes lost, **{gained}** gained; {passages_lost} of the first passages lost, "
        "{passages_gained} gained.", gained=len(difference.gained),
        passages_lost=len(difference.lost_passages),
        passages_gained=len(difference.gained_passages)))
    panels(panel_data(
        [difference.before, after], chosen_drawing(), positions=add_new(place_nodes(view)[0], after),
        look=Look([Caption("As it is", "in color: lost by the change"),
                   Caption("With the change", "in color: gained by it")],
                  place_nodes(view)[1], lone=True)), key="whatif")
    lost = _rows(view, difference.lost, difference.lost_passages, difference.before.nodes)
    gained = _rows(view, difference.gained, difference.gained_passages, after.nodes)
    _both(("Lost: nodes, then passages among the first ten",
           "Gained: nodes, then passages among the first ten"), (lost, gained),
          lambda rows: table(columns_of(("name", "what"), rows)))


def _rows(view: View, nodes: Sequence[RetrievedNode], passages: Sequence[RankedPassage],
          among: Sequence[RetrievedNode]) -> list[tuple[str, str]]:
    """Return the names of nodes and passages with their kinds."""
    largest, rows = largest_of(among), []
    for node in nodes:
        importance = say_percent(share_of(node.importance, largest))
        rows.append((shown_name(node), f"{node.kind}, importance {importance}"))
    for passage in passages:
        rows.append((row_name(view.graph, view.graph.row[passage.id]), "ranked passage"))
    return rows


def _both(words: Sequence[str], sides: Sequence[Sequence[Any]],
          draw: Callable[[Sequence[Any]], object]) -> None:
    """Draw two lists side by side, nothing if both are empty."""
    if not any(sides):
        return
    for place, word, some in zip(st.columns(2, gap="medium"), words, sides, strict=True):
        with place:
            st.caption(word)
            if some:
                draw(some)
            else:
                st.write("Nothing")


def _quotes(some: Sequence[Quoted]) -> None:
    quotes = []
    for sentence, citation in some:
        title = markup.small(safe(citation.title, 60))
        quotes.append(markup.paragraph(f"{markup.best(sentence.line, sentence.best, 600)} {title}"))
    st.html("".join(quotes))
