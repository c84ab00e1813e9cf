"""Exact matching against networkx, and what conditions a question is read to have."""
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.plan.query_graph import read_query_graph, restate_query_graph, seeks
from qafd.reading.text import canonical
from qafd.reasons import NoticeKind, ReasonKind
from qafd.records import Keyword, QueryCondition, QueryGraph, QueryNode, QueryPlan, node_id
from qafd.retrieve.conditions import link_conditions, list_conditions, restate_conditions
from qafd.retrieve.evidence import match_exactly
from qafd.retrieve.exact import ExactMatches
from tests.tiny import tiny_corpus


def oracle(graph, query, known):
    """All subgraph monomorphisms that map what is known to its row."""
    for row in graph:
        graph.nodes[row]["name"] = row
    for node in query:
        query.nodes[node]["name"] = known.get(node)
    taken = set(known.values())

    def fits(row, node):
        return row["name"] == node["name"] or node["name"] is None and row["name"] not in taken

    found = GraphMatcher(graph, query, node_match=fits).subgraph_monomorphisms_iter()
    return {tuple(node for _, node in sorted((to, row) for row, to in one.items())) for one in found}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 2))
def test_matching_finds_what_networkx_finds(seed, size, pinned):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(9, 0.45, seed=seed)
    query = nx.gnp_random_graph(size, 0.6, seed=seed + 1)
    rows = rng.choice(9, min(pinned, size), replace=False).tolist()
    known = dict(enumerate(rows))
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}
    conditions = [QueryCondition(u, v) for u, v in query.edges]
    found = list(match_exactly(size, conditions, known, around.__getitem__, np.arange(9)))
    assert len(found) == len(set(found))
    assert set(found) == oracle(graph, query, known)


@given(st.integers(0, 10**6))
def test_a_negated_condition_removes_what_meets_it(seed):
    graph = nx.gnp_random_graph(9, 0.5, seed=seed)
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}
    found = match_exactly(3, [QueryCondition(0, 1), QueryCondition(0, 2, negated=True)], {1: 0, 2: 1},
                          around.__getitem__, np.arange(9))
    assert {rows[0] for rows in found} == set(graph[0]) - set(graph[1]) - {0, 1}


def test_words_that_several_names_share_are_conditions_on_each():
    read = read_query_graph("Which film was released in Chile and Peru?", ["chile", "peru"])
    assert [condition.words for condition in read.conditions] == [("film", "released")] * 2


def test_a_stand_in_is_a_condition_where_it_is_written():
    read = read_query_graph("Which film was released in Chile but not in the Land of Peru?",
                            ["chile", "peru"], [("Land of Peru", "peru")])
    assert [(read.nodes[c.target].key, c.negated) for c in read.conditions] == [
        ("chile", False), ("peru", True)]


@pytest.mark.parametrize(("question", "conditions"), [
    ("Who owns the mill that left Chile, and was seen in Peru?",
     [("", "mill"), ("mill", "chile"), ("", "peru")]),
    ("Who owns the mill that left Chile, and the land of Peru?",
     [("", "mill"), ("mill", "chile"), ("mill", "peru")]),
    ("Who was in Chile, left or saw Peru?", [("", "chile"), ("", "peru")]),
    ("Who was in Chile, or Peru?", [("", "chile/peru")]),
    ("Who was in Chile, other than the Peru?", [("", "chile")])])
def test_a_condition_is_on_what_the_words_before_its_name_describe(question, conditions):
    read = read_query_graph(question, ["chile", "peru"])
    texts = ["/".join(node.keys) or node.text for node in read.nodes]
    assert [(texts[one.source], texts[one.target]) for one in read.conditions] == conditions
    assert read.excluded == (("peru",) if "other" in question else ())


def test_the_ending_of_a_genitive_is_no_word_of_a_condition():
    read = read_query_graph("Who met Peru's envoy in Chile?", ["peru", "chile"])
    assert [one.words for one in read.conditions] == [("met",), ("envoy",)]


def test_a_name_that_the_question_does_not_write_is_told():
    assert read_query_graph("Where is it?", ["alder"]).unread == ("alder",)


PEOPLE = ("Ada", "Ben", "Cid", "Dot")
PLACES = ("Chile", "Peru", "Norway")


def library(related, passages):
    """People and places, relations by name, and passages by the names they mention."""
    names = [*PEOPLE, *PLACES]
    ids = [node_id("entity", name.lower()) for name in names] + list(passages)
    ends = [(names.index(one), names.index(other), "relation")
            for one, others in related.items() for other in others.split()]
    ends += [(names.index(name), len(names) + place, "mention")
             for place, inside in enumerate(passages.values()) for name in inside if name in names]
    vectors = np.ones((len(ids), 2), np.float32) / np.float32(np.sqrt(2))
    graph = Graph.build(ids, [u for u, _, _ in ends], [v for _, v, _ in ends], None,
                        [kind for _, _, kind in ends], names=[*names, *passages],
                        kinds=["entity"] * len(names) + ["passage"] * len(passages), vectors=vectors,
                        name_vectors=vectors, tokens=[1] * len(ids))
    return tiny_corpus(graph, lambda ids: [" ".join(passages[one]) for one in ids])


def ask(corpus, question, names, **params):
    vector = np.ones(2, np.float32) / np.float32(np.sqrt(2))
    plan = QueryPlan(question, (), vector, np.zeros((0, 2), np.float32), names)
    return ExactMatches(**params).retrieve(corpus, plan)


def met_by(retrieval):
    """How many conditions each answer meets."""
    return {node.name: node.reason.values["met"] for node in retrieval.nodes
            if node.reason.kind is ReasonKind.MEETS}


ALL = "Who was in Chile, Peru and Norway?"
NAMES = ("chile", "peru", "norway")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
@example(384, 4)  # the condition that is left out may be one that others hang on
def test_what_is_told_to_meet_all_conditions_is_what_networkx_finds(seed, unknown):
    """Also with several unknown nodes and cycles among them."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(9, 0.4, seed=seed)
    names = [f"Name{row}" for row in graph]
    ends = list(graph.edges)
    vectors = np.ones((9, 2), np.float32) / np.float32(np.sqrt(2))
    built = Graph.build([node_id("entity", name.lower()) for name in names], [u for u, _ in ends],
                        [v for _, v in ends], None, ["relation"] * len(ends), names=names,
                        kinds=["entity"] * 9, vectors=vectors, name_vectors=vectors, tokens=[1] * 9)
    query = nx.gnp_random_graph(unknown, 0.7, seed=seed + 1)
    known = {unknown: int(rng.integers(9))}
    query.add_edge(int(rng.integers(unknown)), unknown)
    order = list(nx.bfs_tree(query, 0))
    if len(order) <= unknown:
        return
    conditions = []
    for u, v in query.edges:
        outward = u != unknown and (v == unknown or order.index(u) < order.index(v))
        conditions.append(QueryCondition(*((u, v) if outward else (v, u))))
    nodes = [QueryNode(f"unknown {place}") for place in range(unknown)]
    nodes.append(QueryNode("known", names[known[unknown]].lower()))
    plan = QueryPlan("Who?", (), vectors[0], np.zeros((0, 2), np.float32),
                     conditions=QueryGraph(tuple(nodes), tuple(conditions)))
    found = ExactMatches(answers=20).retrieve(tiny_corpus(built, lambda ids: [""] * len(ids)), plan)
    told = {node.id for node in found.nodes if node.reason.kind is ReasonKind.MEETS
            and node.reason.values["met"] == node.reason.values["wanted"]}
    assert told == {built.ids[rows[0]] for rows in oracle(graph, query, known)}


def test_only_what_meets_every_condition_is_retrieved():
    corpus = library({"Ada": "Chile Peru Norway", "Ben": "Chile Peru", "Cid": "Norway"}, {})
    found = ask(corpus, ALL, NAMES)
    assert met_by(found) == {"Ada": 3}
    assert [(one.kind, one.values["count"]) for one in found.notices] == [(NoticeKind.ALL_MET, 1)]


def test_without_an_exact_match_those_that_meet_most_come_first_and_a_tie_is_told():
    corpus = library({"Ada": "Chile Peru", "Ben": "Chile Peru", "Cid": "Norway"}, {})
    found = ask(corpus, ALL, NAMES)
    assert met_by(found) == {"Ada": 2, "Ben": 2, "Cid": 1}
    told, = found.notices
    assert (told.kind, told.values) == (
        NoticeKind.SOME_MET, {"count": 2, "met": 2, "wanted": 3})
    states = {node.name: node.state for node in found.nodes}
    assert (states["Ada"], states["Cid"]) == ("saturated", "wet")


def test_answers_that_meet_the_same_conditions_are_equal_and_words_only_order_them():
    corpus = library({"Ada": "Chile Peru", "Ben": "Chile Peru"},
                     {"p": ("Ada", "left", "Chile"), "q": ("Ben", "painted", "Chile")})
    found = ask(corpus, "Who was painting in Chile and Peru?", ("chile", "peru"))
    ada, ben = (next(node for node in found.nodes if node.name == name) for name in ("Ada", "Ben"))
    assert ben.importance > ada.importance
    assert ben.importance == pytest.approx(ada.importance, abs=1e-6)
    assert ada.reason.values["strength"] == ben.reason.values["strength"]
    assert [one.kind for one in found.notices] == [NoticeKind.ALL_MET, NoticeKind.ALL_TIED]


def test_standing_in_one_passage_breaks_no_negated_condition_but_one_sentence_does():
    corpus = library({"Ada": "Chile", "Ben": "Chile"},
                     {"p": ("Ada", "Chile."), "q": ("Ada", ".", "Peru"), "r": ("Ben", "Peru")})
    assert met_by(ask(corpus, "Who was in Chile but not in Peru?", ("chile", "peru"))) == {"Ada": 1}


def test_weaker_evidence_counts_only_where_it_is_asked_for():
    corpus = library({"Ada": "Chile"}, {"p": ("Ada", "Peru"), "q": ("Ada", "Norway")})
    weak, = [node.reason.values for node in ask(corpus, ALL, NAMES, evidence="passage").nodes
             if node.reason.kind is ReasonKind.MEETS]
    assert (weak["met"], weak["perhaps"], weak["wanted"]) == (1, 2, 3)
    assert met_by(ask(corpus, ALL, NAMES, evidence="relation")) == {"Ada": 1}
    assert {one.id for one in ask(corpus, ALL, NAMES).ranking} == {"p", "q"}


def test_a_name_the_graph_lacks_is_no_error():
    found = ask(library({"Ada": "Chile"}, {}), "Who was in Atlantis?", ())
    assert not found.nodes
    assert NoticeKind.NO_CONDITION in {one.kind for one in found.notices}


@pytest.mark.parametrize(("question", "told"), [
    ("Chile and Peru", True), ("Is Peru in Chile?", True), ("Who was in Chile and Peru?", False),
    ("Wer war in Chile und Peru?", False), ("Is there anyone who was in Chile and Peru?", False)])
def test_a_question_that_seeks_nothing_is_told(question, told):
    found = ask(library({"Ada": "Chile Peru"}, {}), question, ("chile", "peru"))
    assert (NoticeKind.NOTHING_SOUGHT in {one.kind for one in found.notices}) == told


def test_to_what_yes_answers_seeks_nothing():
    nouns = (Keyword("the railway", "high"),)
    for question, sought in (("Did Ada build the railway?", False), ("Builders of the railway", True)):
        plan = QueryPlan(question, nouns, np.ones(2, np.float32), np.ones((1, 2), np.float32), ("ada",))
        assert seeks(plan) == sought


ASKED = QueryPlan("Who was in Chile and Peru?", (), np.ones(2, np.float32) / np.float32(np.sqrt(2)),
                  np.zeros((0, 2), np.float32), ("chile", "peru"))


@pytest.mark.parametrize(("texts", "answers"), [
    (["Chile", "Peru"], {"Ada": 2}), (["Chile", "Norway"], {"Ben": 2}),
    (["Chile", "not Peru"], {"Ben": 1, "Cid": 1}), (["Chile", "not  Norway"], {"Ada": 1, "Cid": 1}),
    (["Norway"], {"Ben": 1})], ids=" ".join)
def test_conditions_are_restated_as_a_list_of_names(texts, answers):
    corpus = library({"Ada": "Chile Peru", "Ben": "Chile Norway", "Cid": "Chile"}, {})
    plan = restate_conditions(corpus.graph, ASKED, texts)
    assert met_by(ExactMatches().retrieve(corpus, plan)) == answers
    listed = list_conditions(corpus.graph, link_conditions(corpus.graph, plan))
    assert sorted(listed) == sorted(" ".join(text.split()) for text in texts)


def test_a_condition_on_a_name_that_no_entity_has_is_refused():
    with pytest.raises(ParameterError, match="Atlantis"):
        restate_conditions(library({"Ada": "Chile"}, {}).graph, ASKED, ["Atlantis"])


def test_a_restated_name_stays_a_condition_on_the_same_node():
    query = read_query_graph("Who taught the man who was in Chile, and lives in Peru?", ["chile", "peru"])
    turned = restate_query_graph(query, {"chile": True, "peru": False, "norway": False})
    ends = {turned.nodes[one.target].key: (one.source, one.negated) for one in turned.conditions}
    assert ends == {"": (0, False), "chile": (1, True), "peru": (0, False), "norway": (0, False)}
    assert restate_query_graph(query, {"chile": False, "peru": False}) == query


@given(st.dictionaries(st.sampled_from(PEOPLE), st.tuples(st.sets(st.sampled_from(PLACES)),
                                                          st.sets(st.sampled_from(PLACES)))))
@settings(max_examples=40, deadline=None)
def test_answers_stand_in_the_order_of_the_conditions_that_they_surely_meet(known):
    related = {name: " ".join(sorted(places)) for name, (places, _) in known.items()}
    passages = {f"p{name}": (name, *sorted(places)) for name, (_, places) in known.items()}
    met = list(met_by(ask(library(related, passages), ALL, NAMES)).values())
    assert met == sorted(met, reverse=True)


def test_what_is_related_to_a_namesake_meets_the_condition():
    names = ["Ada", "Ben", "Chile", "Chile [2]", "Peru"]
    vectors = np.ones((5, 2), np.float32) / np.float32(np.sqrt(2))
    graph = Graph.build([node_id("entity", canonical(name)) for name in names], [0, 0, 1], [3, 4, 2], None,
                        ["relation"] * 3, names=names, kinds=["entity"] * 5, vectors=vectors,
                        name_vectors=vectors, tokens=[1] * 5)
    corpus = tiny_corpus(graph, lambda ids: [""] * len(ids))
    assert met_by(ask(corpus, "Who was in Chile and in Peru?", ("chile", "peru"))) == {"Ada": 2}


@pytest.mark.parametrize(("question", "read"), [
    ("Which river is long?", ""), ("Who is from the United States that met Peru?", "0-peru"),
    ("Which film was released in Chile, Peru and Norway?", "0-chile 0-peru 0-norway"),
    ("Which film was released in Chile but not in Peru?", "0-chile 0-not-peru"),
    ("Who works for the company that built Norway?", "0-1 1-norway"),
    ("Who is the head of the company that built Norway?", "0-1 1-norway"),
    ("Which singer of Chile was in Peru and lives in Norway?", "0-chile 0-peru 0-norway"),
    ("Who founded the firm that is in Peru and makes Norway?", "0-1 1-peru 1-norway"),
    ("Where was the singer of Chile born?", "0-1 1-chile"),
    ("Who married a son of the founder of Chile?", "0-1 1-chile"),
    ("Who wrote the book that names Peru, and was born in Norway?", "0-1 1-peru 0-norway"),
    ("Which film, by a cast that won Peru, was shown in Norway?", "0-1 1-peru 0-norway"),
    ("Who was not born in Peru and lives in Norway?", "0-not-peru 0-norway"),
    ("Who was not in Peru and Norway?", "0-not-peru 0-not-norway"),
    ("Which painter without ties to Peru taught Norway?", "0-not-peru 0-norway")])
def test_conditions_hang_on_the_unknown_that_the_clause_is_about(question, read):
    graph = read_query_graph(question, [name for name in NAMES if name in question.casefold()])
    said = []
    for one in graph.conditions:
        target = graph.nodes[one.target].key or str(one.target)
        said.append(f"{one.source}-{'not-' if one.negated else ''}{target}")
    assert " ".join(said) == read
    assert graph.nodes[0].unknown


@given(st.dictionaries(st.sampled_from(PEOPLE), st.sets(st.sampled_from(PLACES))))
@settings(max_examples=40, deadline=None)
def test_of_names_that_or_joins_one_is_enough(known):
    related = {name: " ".join(sorted(places)) for name, places in known.items()}
    found = ask(library(related, {}), "Who was in Norway and worked in Chile or Peru?", NAMES)
    told = {name for name, met in met_by(found).items() if met == 2}
    assert told == {name for name, places in known.items() if "Norway" in places and len(places) > 1}


def test_alternatives_are_searched_through_an_unknown_too():
    corpus = library({"Ada": "Ben", "Ben": "Peru", "Cid": "Dot", "Dot": "Chile"}, {})
    found = ask(corpus, "Who taught the man who was in Chile or Peru?", ("chile", "peru"))
    assert {name for name, met in met_by(found).items() if met == 2} == {"Ada", "Cid"}


@pytest.mark.parametrize(("question", "read"), [
    ("Who was in Chile, Peru or Norway?", [("chile", "peru", "norway")]),
    ("Who met Chile or was born in Peru, and lives in Norway?", [("chile", "peru"), ("norway",)]),
    ("Who was not in Chile or Peru?", [("not", "chile"), ("not", "peru")]),
    ("Who painted or drew Chile?", [("chile",)]),
    ("Who besides Peru was in Chile?", [("chile",)]),
    ("Who was in Chile, other than Peru?", [("chile",)])])
def test_names_that_or_joins_are_one_condition(question, read):
    graph = read_query_graph(question, [name for name in NAMES if name in question.casefold()])
    assert [("not",) * one.negated + graph.nodes[one.target].keys for one in graph.conditions] == read
    assert all(one.source == 0 for one in graph.conditions)


def test_what_is_excluded_is_no_answer_and_what_is_related_to_it_may_be():
    corpus = library({"Ada": "Chile", "Ben": "Chile Ada"}, {})
    found = ask(corpus, "Who besides Ada was in Chile?", ("ada", "chile"))
    assert met_by(found) == {"Ben": 1}
    assert NoticeKind.NAME_EXCLUDED in {one.kind for one in found.notices}


@pytest.mark.parametrize(("texts", "answers"), [
    (["Peru"], {"Ada"}), (["Chile", "not Peru"], {"Ben", "Cid"}), (["not Chile", "Peru"], set())])
def test_of_alternatives_one_is_removed_or_negated(texts, answers):
    corpus = library({"Ada": "Chile Peru", "Ben": "Chile Norway", "Cid": "Chile"}, {})
    plan = replace(ASKED, question="Who was in Chile or Peru?")
    plan = restate_conditions(corpus.graph, plan, texts)
    assert set(met_by(ExactMatches().retrieve(corpus, plan))) == answers


@pytest.mark.parametrize(("question", "told", "met"), [
    ("Who was in Chile?", NoticeKind.ONE_CONDITION, {"Ada": 1}),
    ("Who was not in Chile?", NoticeKind.ALL_NEGATED, {}),
    ("Who was in Chile and Peru but not in Chile?", NoticeKind.CONTRADICTION, {})])
def test_conditions_that_say_little_are_told(question, told, met):
    names = tuple(name for name in NAMES if name in question.casefold())
    found = ask(library({"Ada": "Chile Peru"}, {}), question, names)
    assert met_by(found) == met
    assert [one.kind for one in found.notices if one.kind is not NoticeKind.ALL_MET] == [told]
