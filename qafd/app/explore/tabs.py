"""The tabs under the picture, from passages to what if, and the button that saves the run."""

import json
from collections.abc import Collection, Sequence
from functools import partial

import streamlit as st

from qafd import export
from qafd.answer import AnswerChange, pages_of, where
from qafd.answer.quote import find_near
from qafd.app import markup
from qafd.app.component import panels
from qafd.app.escaping import escape_sentence, plain, safe
from qafd.app.explore.card import relative
from qafd.app.explore.explanation import explanation_of
from qafd.app.markup import in_document, read_table
from qafd.app.pages import way
from qafd.app.picture import caption, chosen_drawing, groups_of, place_nodes, scale
from qafd.app.result import View, all_notes
from qafd.app.session import bound
from qafd.app.tables import columns_of, download, format_button, table
from qafd.errors import ParameterError
from qafd.explain import Explanation
from qafd.explain.margins import measure_margins
from qafd.explain.whatif import Change, Effect
from qafd.export.formats import OF_RETRIEVAL
from qafd.graph import Graph
from qafd.knowledge import check_conditions
from qafd.reasons import NoticeKind
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedPassage
from qafd.retrieve.conditions import (
    link_conditions,
    list_conditions,
    restate_conditions,
)
from qafd.retrieve.exact import ExactMatches
from qafd.retrieve.qafd import PRESETS
from qafd.retrieve.rank import word_parts
from qafd.runs import NOTE, save_run
from qafd.runs.difference import record_run
from qafd.runs.verify import seal
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.panel import panel_data, shown_name
from qafd.view.placement import add_new
from qafd.wording import count
from qafd.wording.answers import say_certainty, say_change
from qafd.wording.explanations import say_margins, say_met, say_met_by
from qafd.wording.panels import say_state
from qafd.wording.reasons import word_notice, word_reason

PASSAGES = 10
LONG = 700  # characters from which a passage is folded
FIRST = 200  # of its beginning that are shown then, if no sentence is marked
SCORE = ("The method ranks passages by this score; compare scores within one question only. If the names "
         "of the question are sure, flow diffusion adds these parts, each from 0 to its factor. If nothing "
         "is named, importance has the factor 0.4, words 0.5 and the rest 0. **importance** 1.5 × x on a "
         "logarithmic scale, of the passage or of the name that is its title · **meaning** 1 × its "
         "similarity to the question · **words** 0.25 × how well its words match · **words the first "
         "lacks** 0.6 × how well it matches the words of the question that the first passage lacks · "
         "**kept first** the lead that keeps the first passage first.")


def passages_tab(view: View) -> None:
    """Draw the passages, best first, with the sentences near the question marked."""
    passages = view.retrieval.passages[:PASSAGES]
    if not passages:
        st.write("No passage was retrieved; raise the source mass.")
        return
    with view.knowledge.store() as store:
        near = find_near(passages, view.plan, store)
        places = [where(p, pages_of(p, store.documents.get(p.document).marks)) for p in passages]
    st.caption(f"Marked: the sentences nearest to the question. {say_certainty(view.retrieval)}", help=SCORE)
    for rank, (passage, place) in enumerate(zip(passages, places, strict=True), 1):
        link = in_document(passage.document, passage.chunk)
        _passage(rank, passage, f"{safe(place)} · {link}", near.get(passage.chunk, ()))


def draw_ranking(passages: Sequence[RetrievedPassage]) -> None:
    """Draw the first passages with their scores and places."""
    for rank, passage in enumerate(passages[:PASSAGES], 1):
        _passage(rank, passage, safe(where(passage)), ())


def _passage(rank: int, passage: RetrievedPassage, place_html: str,
             marks: Sequence[tuple[int, int]]) -> None:
    """Draw a passage and its score; of a long one the marked sentences, and the rest folded."""
    text, marks = passage.text, sorted(marks)
    html = markup.paragraph(markup.mark_spans(text, marks))
    if len(text) > LONG:
        parts = marks or [(0, text.rfind(" ", 0, FIRST) + 1 or FIRST)]
        shown = " … ".join(markup.mark_spans(text, marks, start, end) for start, end in parts)
        summary = markup.small(safe(f"All {len(text):,} characters"))
        html = markup.paragraph(f"{shown} …") + markup.fold(summary, html)
    score = f"score {passage.score:.2f}"
    if passage.parts:
        score += f" = {word_parts(passage.parts)}"
    head = markup.embolden(safe(f"{rank}. {passage.title}"))
    st.html(f"{head} {markup.small(f'{safe(score)} · {place_html}')}{html}")


def table_tab(view: View) -> None:
    """Draw the picture as tables, and every export."""
    retrieval = view.retrieval
    if not retrieval.nodes:
        st.write("Nothing was touched; raise the mass or ask about names in your documents.")
        return
    both_tables(retrieval, explanation_of(view).possible)
    drawing = chosen_drawing()  # a file is made outside of a run, where the page has no controls
    with st.container(horizontal=True):
        for name, form in OF_RETRIEVAL.items():
            write = partial(_offline, view, drawing) if name == "html" else partial(form.write, retrieval)
            format_button(form, write)


def both_tables(retrieval: Retrieval, possible: Collection[str] | None = None) -> None:
    """Draw the nodes and the edges of a picture as tables; of `possible` nodes not all are sure."""
    nodes, edges = st.tabs([count(len(retrieval.nodes), "node"), count(len(retrieval.edges), "edge")])
    with nodes:
        _nodes_table(retrieval, possible)
    with edges:
        _edges_table(retrieval)


def _offline(view: View, drawing: Drawing) -> str:
    """Write the drawn picture as a page that needs no network."""
    positions, others = place_nodes(view)
    return export.html(view.retrieval, positions, answer=view.answer, drawing=drawing,
                       look=Look([caption(view)], others, scale=scale(view, drawing), groups=groups_of(view),
                                 unsure=view.lacks_answer, graph_size=len(view.graph)))


NODES = ("name", "kind", "state", "certainty", "seed", "importance", "x", "mass", "capacity", "source",
         "similarity", "reason")


def _nodes_table(retrieval: Retrieval, possible: Collection[str] | None) -> None:
    """Draw all touched nodes with their numbers and reasons."""
    shares = relative(retrieval.nodes)
    unsure = possible or ()
    rows = []
    for n in retrieval.nodes:
        sure = "possible" if n.id in unsure else "sure"
        rows.append((shown_name(n), n.kind, say_state(n.state), sure if n.state == SATURATED else "", n.seed,
                     shares[n.id], n.importance, n.mass, n.capacity, n.source, n.alignment,
                     word_reason(n.reason)))
    columns = columns_of(NODES, rows)
    if possible is None:
        del columns["certainty"]
    table(columns, formats={"importance": "percent", "x": "%.4g"},
          meanings={"certainty": "Sure nodes are retrieved by the names of the question alone, possible "
                                 "ones need mass of seeds that are only near to it",
                    "importance": "x over the largest x, as everywhere in the app",
                    "x": "The dual variable of the diffusion; exports call it importance"})


def _edges_table(retrieval: Retrieval) -> None:
    """Draw all edges between touched nodes with flow and weight."""
    if not retrieval.edges:
        st.write("No edge joins two of these nodes.")
        return
    names = {n.id: shown_name(n) for n in retrieval.nodes}
    rows = [(names[e.source], names[e.target], e.flow, e.weight, e.kind, e.label)
            for e in retrieval.edges]
    table(columns_of(("from", "to", "flow", "weight", "kind", "relation"), rows))


def certificate_tab(view: View) -> None:
    """Draw the proof that the diffusion is optimal, number by number."""
    proof(view.retrieval, view.graph)
    all_notes(view)


def proof(retrieval: Retrieval, graph: Graph) -> None:
    """Draw the certificate of a diffusion, and the run as a file to check it."""
    certificate = retrieval.certificate or {}
    st.write("It proves that the diffusion is the optimum of problem (5), not that the answer "
              "is relevant.")
    volume, source = certificate["volume"], certificate["source"]
    unbalanced = max(map(abs, certificate["balance"]), default=0.0)
    checks = (
        ("no node holds more than its capacity, m ≤ T", certificate["overfull"]),
        ("no importance is negative, x ≥ 0", certificate["negative"]),
        ("every retrieved node is full, x > 0 ⇒ m = T", certificate["unfilled"]),
        ("mass is conserved in every connected part", unbalanced),
        ("duality gap x'(T - m), relative to the objective", abs(certificate["relative_gap"])),
        (f"retrieved capacity {volume:.4g} ≤ source mass {source:.4g} (Lemma 2)", max(0.0, volume - source)))
    st.html(read_table(("condition", "worst violation"), [(name, f"{worst:.1e}" if worst else "0")
                                                          for name, worst in checks]))
    if not retrieval.parts and (words := say_margins(measure_margins(retrieval))):
        st.write(plain(" ".join(words)))
    st.caption(f"Tolerance {certificate['rtol']:g} of each capacity · the solver touched "
               f"{certificate['touched']:,} of {count(len(graph), 'node')} and {certificate['edges']:,} of "
               f"{count(graph.edge_count, 'edge')} · {count(certificate['rounds'], 'round')} · "
               f"{retrieval.work.milliseconds:.2f} ms")
    download("Download this run",
             lambda: json.dumps(seal(retrieval.to_dict()), ensure_ascii=False), "run.json",
             "application/json",
             help="`qafd verify run.json` checks it from its own numbers, without a solver.")


def code_tab(view: View) -> None:
    """Draw the Python code and the command that reproduce this view."""
    default = PRESETS["best"].method
    # The mass is always named: without it, a small graph gets a suggested one.
    changed = {name: value for name, value in view.retrieval.params.items()
               if name == "mass" or value != getattr(default, name)}
    arguments = "".join(f",\n               {k}={v!r}" for k, v in changed.items())
    st.code(f"import qafd\n\nkg = qafd.KnowledgeGraph.open({view.knowledge.place.written!r})\n"
            f"r = kg.retrieve({view.question!r}{arguments})\n"
            "r.nodes, r.edges, r.passages, r.certificate", language="python", wrap_lines=True)
    given = ",".join(f"{name}={_flag(value)}" for name, value in changed.items())
    st.code(f"qafd query --db {_shell(view.knowledge.place.written)} --method 'qafd({given})' --json "
            f"-- {_shell(view.question)} > run.json\nqafd verify run.json", language="bash",
            wrap_lines=True)


def _flag(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def keep_button(view: View) -> None:
    """Draw the button that saves the shown run, with an optional note."""
    box = st.popover("Save this run", icon=":material/bookmark_add:", type="tertiary",
                     key="keeping", on_change="rerun",
                     help="Save the question, its settings and this result in the history.")
    if not box.open:  # a folded form need not be sent with every move of the mass
        return
    with box, st.form("keep", border=False, clear_on_submit=True):
        note = st.text_input("Note", max_chars=NOTE, placeholder="Note")
        if not st.form_submit_button("Save", type="primary"):
            return
        places = place_nodes(view)[0]
        layout = {n.id: places[n.id] for n in view.retrieval.nodes if n.id in places}
        with view.knowledge.store() as store:
            key = save_run(store, record_run(view.knowledge, view.retrieval, view.plan, graph=view.graph,
                                             layout=layout, note=note))
        st.caption(":material/bookmark_added: Saved. It will not change.")
        way("runs", "See it in Runs", run=key)


COLUMNS = ("Answer", "Condition", "Met by", "Sentence", "Document")


def conditions_tab(view: View) -> None:
    """List the conditions of a question, and the table of answers that meet them."""
    st.caption("Each name of the question is a condition on the answer. Exact retrieval lists the answers "
               "that meet all of them, with the sentences. Where none does by sentences, a passage with both "
               "names counts too.")
    plan = _edit_conditions(view.graph, view.plan)
    retrieval = _match(view, plan, "sentence")
    if not _meets_all(retrieval):
        retrieval = _match(view, plan, "passage")
    if retrieval.notices:
        st.write(" ".join(escape_sentence(word_notice(notice)) for notice in retrieval.notices))
    rows: list[tuple[str, ...]] = []
    for answer in check_conditions(view.knowledge, retrieval):
        first = f"{answer.name} ({say_met(answer)})"
        for row in answer.rows:
            rows.append((first, row.name, say_met_by(row), row.sentence, row.document))
    if rows:
        table(columns_of(COLUMNS, rows), column_config={"Sentence": st.column_config.Column(width="large")})


def _match(view: View, plan: QueryPlan, evidence: str) -> Retrieval:
    """Match the conditions of a question by evidence of at least this level."""
    method = ExactMatches(evidence=evidence)
    with st.spinner("Matching"):
        view.knowledge.build_layers(method.needs)
        return view.knowledge.retrieve(plan, method, graph=view.graph)


def _meets_all(retrieval: Retrieval) -> bool:
    """Return True if an answer meets all conditions, surely or perhaps."""
    kinds = NoticeKind.ALL_MET, NoticeKind.PERHAPS_MET
    return any(notice.kind in kinds and notice.values["met"] == notice.values["wanted"]
               for notice in retrieval.notices)


def _edit_conditions(graph: Graph, plan: QueryPlan) -> QueryPlan:
    """Draw the list of conditions, and return the plan with those that the user leaves in it."""
    now = list_conditions(graph, link_conditions(graph, plan))
    texts = st.multiselect(
        "Conditions", now, now, key=f"conditions of {plan.question}", accept_new_options=True,
        help="Remove one, or type a name to add one. “not” before a name says that the answer must "
             "not be related to it.")
    try:
        return restate_conditions(graph, plan, texts)
    except ParameterError as error:
        st.caption(escape_sentence(error))
        return plan


EDGES = 60


def whatif_tab(view: View) -> None:
    """Draw the effect of taking something out."""
    explanation = explanation_of(view)
    if not explanation.full:
        st.write("Nothing is retrieved; raise the mass.")
        return
    if view.retrieval.parts:
        st.caption(f"A change is made for all {len(view.retrieval.parts)} diffusions: each is "
                    "solved again, and their nodes are united again.")
    change = _change(explanation)
    if change == Change():
        st.caption("Choose something to take out: the question is then solved "
                    "again, exactly, and both results are drawn side by side.")
        return
    _difference(view, explanation.what_if(change))


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


def _difference(view: View, difference: Effect) -> None:
    """Draw both results side by side, under what the change does to the quoted answer."""
    same = difference.before.ranking == view.retrieval.ranking
    before = view.answer if same else view.knowledge.answer(difference.before, view.plan)
    change = AnswerChange.of(before, view.knowledge.answer(difference.after, view.plan))
    st.write(f"**{plain(say_change(change))}**")
    st.write(f"**{count(len(difference.lost), 'node')}** lost, **{len(difference.gained)}** gained; "
             f"{len(difference.lost_passages)} of the first passages lost, {len(difference.gained_passages)} "
             "gained.")
    positions, others = place_nodes(view)
    captions = [Caption("As it is", "in color: lost by the change"),
                Caption("With the change", "in color: gained by it")]
    panels(panel_data(
        [difference.before, difference.after], chosen_drawing(),
        positions=add_new(positions, difference.after), look=Look(captions, others, lone=True)), key="whatif")
