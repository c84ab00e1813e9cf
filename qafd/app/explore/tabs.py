"""The tabs under the picture: passages, table, certificate and code."""

import json
from collections.abc import Sequence

import streamlit as st

from qafd import export
from qafd.answer import pages_of, where
from qafd.answer.quote import find_near
from qafd.app.escaping import safe, safe_lines
from qafd.app.explore.answer import STYLE
from qafd.app.explore.keeping import run_shown
from qafd.app.explore.node import STATES, relative
from qafd.app.links import in_document
from qafd.app.picture import chosen_drawing, placed
from qafd.app.result import View
from qafd.flow.verify import sealed
from qafd.graph import Graph
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.retrieve.qafd import PRESETS
from qafd.runs.bundle import bundled
from qafd.runs.report import report
from qafd.view.panel import clean, counted, shown_name
from qafd.wording.answers import say_certainty
from qafd.wording.reasons import word_reason

PASSAGES = 10
LONG = 700  # characters from which a passage is folded
FIRST = 200  # of its beginning that are shown then
FOLDED = 0.8  # share of a passage from which it is shown whole instead
EXPORTED = ("The column importance has the dual variable x; over its largest it is the percentage "
            "shown here. alignment is the similarity to the question.")
SCORE = ("A passage's score is what the method ranks by; compare scores within one question only. "
         "The parts of flow diffusion's, each from 0 to its factor, where the names of the question "
         "are sure; where nothing is named, importance has 0.4, words 0.5, the rest 0: "
         "**importance** 1.5 × x on a logarithmic scale, of the passage or of the name that is its "
         "title · **meaning** 1 × its "
         "similarity to the question · **words** 0.25 × how well its words match · **words the "
         "first lacks** 0.6 × how well the question's words match that the first passage has not · "
         "**named in the first** 0.4 where the first passage mentions its title · **kept first** "
         "the lead that keeps the passage first from which the others are seen.")
COLORS = ("#009e73", "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#999999")  # Okabe and Ito's


def passages_tab(view: View) -> None:
    """The passages, best first, with the sentences near the question marked."""
    passages = view.retrieval.passages[:PASSAGES]
    if not passages:
        st.write("No passage was retrieved; raise the source mass.")
        return
    with view.knowledge.store() as store:
        near = find_near(passages, view.plan, store)
        places = [where(p, pages_of(p, store.documents.get(p.document).marks)) for p in passages]
    st.caption(f"Marked: the sentences nearest to the question. {say_certainty(view.retrieval)}",
               help=SCORE)
    with st.container(key="answer_passages"):
        st.html(STYLE)
        for rank, (passage, place) in enumerate(zip(passages, places, strict=True), 1):
            link = in_document(passage.document, passage.chunk)
            _passage(rank, passage, f"{safe(place)} · {link}", near.get(passage.chunk, ()),
                     passages[0].score)


def ranked(passages: Sequence[RetrievedPassage]) -> None:
    """The texts of the first passages, with their scores and where they stand."""
    for rank, passage in enumerate(passages[:PASSAGES], 1):
        _passage(rank, passage, safe(where(passage)), (), passages[0].score)


def _passage(rank: int, passage: RetrievedPassage, place: str,
             marks: Sequence[tuple[int, int]], best: float) -> None:
    """A passage and its score; of a long one its beginning and the marked sentences above all."""
    text, marks = passage.text, sorted(marks)
    whole = f"<p style='margin:.2em 0 1em'>{_marked(text, 0, len(text), marks)}</p>"
    if len(text) > LONG:
        parts = _shown(text, marks)
        if sum(end - start for start, end in parts) < FOLDED * len(text):
            shown = " … ".join(_marked(text, start, end, marks) for start, end in parts)
            whole = (f"<p style='margin:.2em 0'>{shown}{' …' * (parts[-1][1] < len(text))}</p>"
                     "<details style='margin:0 0 1em'><summary><small>All "
                     f"{len(text):,} characters</small></summary>{whole}</details>")
    st.html(f"<p style='margin:0'><b>{rank}. {safe(passage.title)}</b> "
            f"<small style='opacity:.7'>score {passage.score:.2f} · {place}</small></p>"
            f"{_parts(passage, best)}{whole}")


def _parts(passage: RetrievedPassage, best: float) -> str:
    """What a score is the sum of as a bar, of the width that the best score would fill, and words.

    "" for a method whose score has no parts.
    """
    shown = [(name, value, color)
             for (name, value), color in zip(passage.parts.items(), COLORS, strict=False)
             if value >= 0.005]
    whole = max(best, sum(value for _, value, _ in shown))  # of a file from others it may be more
    bar = "".join(f"<i style='flex:none;width:{100 * value / whole:.2f}%;background:{color}'></i>"
                  for _, value, color in shown)
    words = " + ".join(f"<span style='white-space:nowrap'><b style='color:{color}'>■</b> "
                       f"{safe(name)} {value:.2f}</span>" for name, value, color in shown)
    return (f"<div style='display:flex;gap:1px;height:.4em;max-width:26em;margin:.3em 0 0'>{bar}"
            f"</div><small>{words}</small>") if shown else ""


def _shown(text: str, marks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first words of a long text and its marks, those that touch as one."""
    first = text.rfind(" ", 0, FIRST)
    parts = [(0, first if first > 0 else FIRST)]
    for start, end in marks:
        if start <= parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    return parts


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> str:
    """A stretch of a text with the marks that begin in it."""
    at, parts = start, []
    for first, last in marks:
        if start <= first < end:
            parts += [safe_lines(text[at:first]), f"<mark>{safe_lines(text[first:last])}</mark>"]
            at = last
    return " ".join([*parts, safe_lines(text[at:end])])


def table_tab(view: View) -> None:
    """The picture as tables, and every export."""
    retrieval, contract = view.retrieval, chosen_drawing().contract
    if not retrieval.nodes:
        st.write("Nothing was touched; raise the mass or ask about names in your documents.")
        return
    nodes, edges = st.tabs([counted(len(retrieval.nodes), "node"),
                            counted(len(retrieval.edges), "edge")])
    with nodes:
        nodes_table(retrieval)
    with edges:
        edges_table(retrieval)
    with st.container(horizontal=True):
        st.download_button("Nodes CSV", lambda: export.nodes_csv(retrieval), "nodes.csv",
                           "text/csv", on_click="ignore", help=EXPORTED)
        st.download_button("Edges CSV", lambda: export.edges_csv(retrieval), "edges.csv",
                           "text/csv", on_click="ignore")
        st.download_button("GraphML", lambda: export.graphml(retrieval), "retrieval.graphml",
                           "application/xml", on_click="ignore")
        st.download_button("GEXF", lambda: export.gexf(retrieval), "retrieval.gexf",
                           "application/xml", on_click="ignore")
        st.download_button(
            "Node-link JSON", lambda: json.dumps(export.node_link(retrieval), ensure_ascii=False),
            "retrieval.json", "application/json", on_click="ignore")
        st.download_button("Offline HTML",
                           lambda: export.html(retrieval, placed(view)[0], contract=contract),
                           "retrieval.html", "text/html", on_click="ignore")
        st.download_button("Report", lambda: report(run_shown(view)), "report.md",
                           "text/markdown", on_click="ignore",
                           help="Question, answer, nodes, reasons, passages and certificate as "
                           "Markdown.")
        st.download_button("Bundle", lambda: bundled(run_shown(view)), "run.zip",
                           "application/zip", on_click="ignore",
                           help="All of it in one file that `qafd verify` checks and `qafd "
                           "replay` asks again.")


def nodes_table(retrieval: Retrieval) -> None:
    """All touched nodes with their numbers and reasons."""
    shares = relative(retrieval.nodes)
    st.dataframe([{
        "name": shown_name(n), "kind": n.kind, "state": STATES[n.state], "seed": n.seed,
        "importance": shares[n.id], "x": n.importance, "mass": n.mass, "capacity": n.capacity,
        "source": n.source, "similarity": n.alignment, "reason": clean(word_reason(n.reason), 300)}
        for n in retrieval.nodes], hide_index=True, column_config={
            "importance": st.column_config.NumberColumn(
                format="percent", help="x over the largest x, as everywhere in the app"),
            "x": st.column_config.NumberColumn(
                format="%.4g", help="The dual variable of the diffusion; exports call it "
                "importance")})


def edges_table(retrieval: Retrieval) -> None:
    """All edges between touched nodes with flow and weight."""
    if not retrieval.edges:
        st.write("No two of these nodes are joined.")
        return
    names = {n.id: shown_name(n) for n in retrieval.nodes}
    st.dataframe([{
        "from": names[e.source], "to": names[e.target], "flow": e.flow, "weight": e.weight,
        "kind": clean(e.kind, 40), "relation": clean(e.label, 120)} for e in retrieval.edges],
        hide_index=True)


def certificate_tab(view: View) -> None:
    """The proof that the diffusion is optimal, number by number."""
    proof(view.retrieval, view.graph)


def proof(retrieval: Retrieval, graph: Graph) -> None:
    """What the certificate of a diffusion on a graph says, and the run to check it by."""
    certificate = retrieval.certificate or {}
    st.write("It proves that the diffusion is the optimum of problem (5), not that the answer "
             "is relevant.")
    st.dataframe([
        {"condition": "no node holds more than its capacity, m ≤ T",
         "worst violation": f"{certificate['overfull']:.1e}"},
        {"condition": "no importance is negative, x ≥ 0",
         "worst violation": f"{certificate['negative']:.1e}"},
        {"condition": "every retrieved node is full, x > 0 ⇒ m = T",
         "worst violation": f"{certificate['unfilled']:.1e}"},
        {"condition": "mass is conserved in every connected part",
         "worst violation": f"{max(map(abs, certificate['balance']), default=0.0):.1e}"},
        {"condition": "duality gap x'(T - m), relative to the objective",
         "worst violation": f"{abs(certificate['relative_gap']):.1e}"},
        {"condition": f"retrieved capacity {certificate['volume']:.4g} ≤ source mass "
                      f"{certificate['source']:.4g} (Lemma 2)",
         "worst violation": f"{max(0.0, certificate['volume'] - certificate['source']):.1e}"},
    ], hide_index=True)
    work = retrieval.work
    st.caption(f"Tolerance {certificate['rtol']:g} of each capacity · the solver touched "
               f"{work.nodes_touched:,} of {counted(len(graph), 'node')} and "
               f"{work.edges_touched:,} of {counted(graph.edge_count, 'edge')} · "
               f"{counted(work.rounds, 'round')} · {work.milliseconds:.2f} ms")
    st.download_button(
        "Download this run", lambda: json.dumps(sealed(retrieval.to_dict()),
                                                ensure_ascii=False),
        "run.json", "application/json", on_click="ignore", icon=":material/verified:",
        help="`qafd verify run.json` checks it from its own numbers, without a solver.")


def code_tab(view: View) -> None:
    """The Python and the command that reproduce this view."""
    default = PRESETS["best"].method
    # The mass is always named: without it, a small graph gets a suggested one.
    changed = {name: value for name, value in view.retrieval.params.items()
               if name == "mass" or value != getattr(default, name)}
    arguments = "".join(f",\n               {k}={v!r}" for k, v in changed.items())
    st.code(f"import qafd\n\nkg = qafd.KnowledgeGraph.open({str(view.knowledge.path)!r})\n"
            f"r = kg.retrieve({view.question!r}{arguments})\n"
            "r.nodes, r.edges, r.passages, r.certificate", language="python")
    flags = "".join(f" --{k.replace('_', '-')} {_flag(v)}" for k, v in changed.items())
    st.code(f"qafd query --db {_shell(str(view.knowledge.path))}{flags} --json "
            f"-- {_shell(view.question)} > run.json\nqafd verify run.json", language="bash")


def _flag(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
