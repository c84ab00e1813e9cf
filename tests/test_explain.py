"""Balances, sentences, links, documents and strands of explanations, against rows read one by one."""

from collections import defaultdict
from dataclasses import replace

import pytest
from clicks import page, shown
from tiny import TinyEmbedder, tiny_index

from qafd.curate.neighbors import connect
from qafd.errors import ParameterError
from qafd.explain.edges import mass_balance, sentences_in, sentences_joining
from qafd.explain.paths import Link, links
from qafd.ingest import refresh
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import UNSTATED
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.storage.rows import Evidence
from qafd.view.contraction import drawn_contracted

# A path a - b - c with unit weights and capacities; 2.5 units enter at a. Then x_b = 0.5,
# x_a = 2, a sends 1.5 to b, b sends 0.5 to c, which stays wet.
PATH = Retrieval(
    "q", "qafd", {}, ("a",),
    (RetrievedNode("a", "Alpha", "entity", 2.0, 1.0, "saturated", UNSTATED, 1.0, 2.5, 1, True),
     RetrievedNode("b", "Beta", "entity", 0.5, 1.0, "saturated", UNSTATED, 1.0, 0.0, 2),
     RetrievedNode("c", "Gamma", "entity", 0.0, 0.5, "wet", UNSTATED, 1.0, 0.0, 1)),
    (RetrievedEdge("a", "b", "relation", 1.5, 1.0), RetrievedEdge("b", "c", "relation", 0.5, 1.0)))


def test_a_wrong_flow_shows_as_an_error_of_the_balance():
    broken = Retrieval("q", "qafd", {}, ("a",), PATH.nodes, PATH.edges[:1])
    assert mass_balance(broken, "b").error == pytest.approx(0.5)


def test_a_node_that_was_not_touched_has_no_balance():
    with pytest.raises(ParameterError, match="'d' was not touched"):
        mass_balance(PATH, "d")


def evidence(node, chunk, start):
    return Evidence(node, chunk, "a.md", "A", f"{chunk}{start}", start, start + 9, None, "",
                    ((start + ord(node), start + ord(node) + 1),))


FOUND = tuple(evidence(*row) for row in (
    ("u", "one", 0), ("v", "one", 0), ("u", "one", 10), ("v", "two", 10), ("u", "two", 20), ("v", "two", 20),
    ("u", "three", 0), ("v", "three", 9), ("u", "four", 0), ("v", "four", 0)))


def test_sentences_that_join_two_names_have_both_and_mark_both():
    found = sentences_joining(FOUND, {}, "u", "v")
    assert [(e.chunk, e.start) for e in found] == [("one", 0), ("two", 20)]
    assert [e.mentions for e in found] == [((117, 118), (118, 119)), ((137, 138), (138, 139))]
    assert sentences_joining(FOUND, {}, "v", "u") == tuple(replace(e, node="u") for e in found)


@pytest.mark.parametrize("ends", [("p", "u"), ("u", "p")])
def test_sentences_that_join_a_passage_and_a_name_are_its_own_with_the_name(ends):
    found = sentences_joining(FOUND, {"p": "one"}, *ends)
    assert found == (FOUND[0], FOUND[2])
    assert sentences_joining((*FOUND, evidence("u", "one", 30)), {"p": "one"}, *ends) == found


def test_a_passage_without_a_sentence_of_both_names_gives_the_first_with_each():
    assert [e.start for e in sentences_in("two", FOUND, "u", "v")] == [20]
    apart = (evidence("u", "three", 30), *FOUND, evidence("v", "three", 40))
    assert sentences_in("three", apart, "v", "u") == (FOUND[7], apart[0])
    assert sentences_in("three", FOUND[:7], "u", "v") == (FOUND[6],)


@pytest.fixture(scope="module", params=[{}, {"layer": "entities"}], ids=["passages", "entities"])
def told(apple, request):
    return apple.explain("Introduce Steve Jobs's products in Apple.", **request.param)


def stored_edges(told):
    found = defaultdict(list)
    with told.runs[0].open_store() as store:
        for edge in store.graph.edges(told.graph.ids):
            found[frozenset((edge.source, edge.target))].append(edge)
    return found


def test_each_step_of_a_path_is_the_link_that_the_store_has(told):
    stored, graph = stored_edges(told), told.graph
    kind, key = {}, {}
    with told.runs[0].open_store() as store:
        for id, node in store.graph.nodes(graph.ids).items():
            kind[id], key[id] = node.kind, node.key
    seen = set()
    paths = told.paths(2000).paths
    for path in paths:
        nodes, at = path.nodes, 0
        for step in path.steps:
            through = step.passage != ""
            assert through == ([kind[id] for id in nodes[at:at + 3]] == ["entity", "passage", "entity"])
            u, v = nodes[at], nodes[at + 1 + through]
            assert step.target.removeprefix("¶ ") == graph.names[graph.row[v]]
            assert step.target.startswith("¶ ") == (kind[v] == "passage")
            relations = [e for e in stored[frozenset((u, v))] if e.kind == "relation" and e.label and (
                not through or key[nodes[at + 1]] in {chunk for chunk, _ in e.evidence})]
            if relations:
                assert (step.link, step.label) == (Link.STATED, relations[0].label)
                assert step.forward == (relations[0].source == u)
            elif through:
                assert step.link is Link.TOGETHER
                assert step.passage == f"¶ {graph.names[graph.row[nodes[at + 1]]]}"
            elif "passage" in (kind[u], kind[v]):
                assert step.link is (Link.NAMES if kind[u] == "passage" else Link.NAMED_IN)
            else:
                kinds = {e.kind for e in stored[frozenset((u, v))]}
                assert step.link is (Link.SYNONYM if kinds == {"synonym"} else Link.RELATED)
            assert not step.by_hand
            seen.add(step.link)
            at += 1 + through
        assert at == len(nodes) - 1
    assert len(seen) >= 3
    sent = defaultdict(float)
    for path in paths:
        for pair in zip(path.nodes, path.nodes[1:], strict=False):
            sent[pair] += path.mass
    assert {(u, v): mass for u, v, mass in links(paths)} == pytest.approx(sent)


def test_places_are_the_documents_behind_touched_passages_and_relations(told):
    run, stored = told.runs[0], stored_edges(told)
    with run.open_store() as store:
        nodes = store.graph.nodes(told.graph.ids)
        chunks = store.passages.get(node.key for node in nodes.values() if node.kind == "passage")
    ids = told.graph.ids_of(run.diffusion.rows.tolist())
    passages = {chunks[nodes[id].key].document for id in ids if nodes[id].kind == "passage"}
    alone = {}
    for ends, edges in stored.items():
        names = {chunks[chunk].document for edge in edges for chunk, _ in edge.evidence}
        if {edge.kind for edge in edges} == {"relation"} and len(names) == 1 and ends & set(ids) and all(
                edge.count == len(edge.evidence) for edge in edges):
            alone[ends] = names.pop()
    if run.problem.method.layer != "entities":
        alone = {}
    touched = [frozenset((ids[u], ids[v])) for u, v in
               zip(run.diffusion.u.tolist(), run.diffusion.v.tolist(), strict=True)]
    assert run.places.documents == passages | {alone[ends] for ends in touched if ends in alone}
    assert {frozenset(told.graph.ids_of(ends)): name for ends, name in run.places.stated.items()} == alone
    for name in set(alone.values()):
        assert set(run.places.stated_in(name)) == {
            ends for ends, one in run.places.stated.items() if one == name}


def test_a_relation_states_a_step_only_through_a_passage_that_it_is_of(path):
    tiny_index(path, [("a.txt", b"Ada met Bob."), ("b.txt", b"Ada left. Bob left.")])
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    told = knowledge.explain("Whom did Ada meet?", seeds=0, mass=3.4, variant="plain")
    steps = {step.passage: (step.link, step.label) for way in told.paths(99).paths for step in way.steps
             if step.passage}
    assert steps == {"¶ a": (Link.STATED, "met"), "¶ b": (Link.TOGETHER, "")}


def test_an_edge_by_hand_is_one_on_paths_and_along_it(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "hand.db")
    knowledge.add_text("a.txt", "Ada Brenner met Karl Voss in Lindau.")
    knowledge.add_text("b.txt", "Eva Stein met Otto Krantz in Riga.")
    with knowledge.store() as store:
        connect(store, "Karl Voss", "Eva Stein", "taught", "a letter")
        connect(store, "Ada Brenner", "Karl Voss", "met")  # as a document says too
    refresh(knowledge.url)
    told = knowledge.explain("Whom did Karl Voss teach?", layer="entities", mass=6.0)
    ends = told.graph.ids[told.find("Karl Voss")], told.graph.ids[told.find("Eva Stein")]
    found = told.along(*ends)
    assert (found.label, found.direct, found.passages, found.question) == ("taught", True, 0, "")
    strand, = found.strands
    assert [(edge.source, edge.label, edge.target, edge.note) for edge in strand.added] == [
        ("Karl Voss", "taught", "Eva Stein", "a letter")]
    assert (strand.passage, strand.source, strand.sentences) == ("", "Karl Voss", ())
    steps = {step.label: step for path in told.paths().paths for step in path.steps}
    assert steps["taught"].by_hand
    assert steps["taught"].forward
    assert not any(step.by_hand for label, step in steps.items() if label != "taught")


WHOLE = "What did Mara Delgado sing in Lisbon?"
NEXT = "Who founded the prize that Salt Road won?"


@pytest.fixture(scope="module", params=[[], [NEXT]], ids=["one diffusion", "two"])
def drawn(songs, request):
    return songs.explain(songs.plan(WHOLE, further=request.param))


def test_the_strands_add_up_to_the_drawn_flow(songs):
    drawn = songs.explain(WHOLE)
    for edge in drawn_contracted(drawn.retrieval).edges[::3]:
        found = drawn.along(edge.source, edge.target, contracted=True)
        assert sum(s.flow for s in found.strands) + found.rest == pytest.approx(edge.flow)
        assert found.flow == edge.flow


def test_the_share_is_of_all_that_reached_the_end(drawn):
    source = {n.id: n.source for n in drawn.retrieval.nodes}
    for edge in drawn.retrieval.edges:
        if edge.flow > 0:
            reached = source[edge.target] + sum(
                e.flow for e in drawn.retrieval.edges if e.target == edge.target)
            found = drawn.along(edge.source, edge.target)
            assert found.share == pytest.approx(edge.flow / reached)


def test_either_end_may_be_named_first(drawn):
    edge = max(drawn.retrieval.edges, key=lambda e: e.flow)
    found = drawn.along(edge.source, edge.target)
    assert found == drawn.along(edge.target, edge.source)
    questions = [run.retrieval.query for run in drawn.runs]
    assert found.question in (questions if len(questions) > 1 else [""])


def test_a_document_taken_out_by_a_link_names_what_is_lost(home):
    app = page("explore", tab="What if", no_doc="steve-jobs.md")
    lost = KnowledgeGraph.sample("apple-amazon", home).explain(
        "Introduce Steve Jobs's products in Apple.").without(documents=["steve-jobs.md"]).lost
    assert f"**{len(lost)} nodes** lost" in shown(app)


def test_the_table_says_of_each_retrieved_node_if_it_is_sure(home):
    rows = page("explore", tab="Table").dataframe[0].value
    told = KnowledgeGraph.sample("apple-amazon", home).explain("Introduce Steve Jobs's products in Apple.")
    assert rows["certainty"].tolist() == [
        "" if node.state != "saturated" else "possible" if node.id in told.possible else "sure"
        for node in told.retrieval.nodes]
    assert {"sure", "possible"} <= set(rows["certainty"])


@pytest.mark.browser
def test_choosing_a_path_highlights_it_and_the_link_restores_it(browser, app_url):
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    tab = context.new_page()
    tab.goto(app_url + "/?tab=Paths")
    tab.get_by_text("Steve Jobs — showed in").first.click()
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    assert tab.locator(".node.step").count() == 3  # a name, the passage, a name
    tab.goto(tab.url)
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    context.close()
