"""Laws of the chains: mass from a seed, name by name, with the sentence of each hop."""

from collections.abc import Iterator

import pytest

from qafd.explain import Explanation
from qafd.knowledge import KnowledgeGraph

ASKED = {
    "apple-amazon": ("Introduce Steve Jobs's products in Apple.",
                     "Which service did the successor of Jeff Bezos build?"),
    "songbook": ("Where was the founder of the prize born that Salt Road won?",
                 "Where was the singer of Paper Lanterns born?"),
    "elements": ("Who foretold the element that Clemens Winkler found?",)}
CASES = [(sample, question, params) for sample, questions in ASKED.items() for question in questions
         for params in ({}, {"diffusions": "each"}, {"layer": "entities"})]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KnowledgeGraph]:
    home = tmp_path_factory.mktemp("home")
    return {name: KnowledgeGraph.sample(name, home) for name in ASKED}


@pytest.fixture(params=CASES, ids=lambda case: f"{case[1][:24]} {case[2]}")
def told(request: pytest.FixtureRequest,
         samples: dict[str, KnowledgeGraph]) -> tuple[KnowledgeGraph, Explanation]:
    sample, question, params = request.param
    return samples[sample], samples[sample].explain(question, **params)


def flows(explanation: Explanation) -> Iterator[dict[tuple[str, str], float]]:
    for run in explanation.runs:
        yield {(edge.source, edge.target): edge.flow for edge in run.retrieval.edges}


def test_a_chain_starts_at_a_seed_and_each_step_has_flow(
        told: tuple[KnowledgeGraph, Explanation]) -> None:
    explanation = told[1]
    chains = explanation.chains()
    assert chains
    for chain in chains:
        steps = list(zip(chain.nodes, chain.nodes[1:], strict=False))
        assert chain.nodes[0] in explanation.retrieval.seeds
        assert any(all(flow.get(step, 0.0) > 0 for step in steps) for flow in flows(explanation))


def test_each_hop_has_a_sentence_of_a_document_that_holds_both_names(
        told: tuple[KnowledgeGraph, Explanation]) -> None:
    knowledge, explanation = told
    for chain in explanation.chains():
        for hop in chain.hops:
            with knowledge.store() as store:
                text = store.passages.get([hop.chunk])[hop.chunk].text
                edges = store.graph.edges([hop.source, hop.target])
            assert hop.sentence in " ".join(text.split())
            names = [id for id in (hop.source, hop.target)
                     if explanation.graph.kinds[explanation.graph.row[id]] != "passage"]
            stated = {e.document for e in knowledge.evidence(names[-1:])}
            assert hop.document in stated
            assert edges or len(names) == 1


def test_mass_never_grows_along_a_chain(told: tuple[KnowledgeGraph, Explanation]) -> None:
    explanation = told[1]
    for chain in explanation.chains():
        masses = [hop.mass for hop in chain.hops]
        assert masses == sorted(masses, reverse=True)
        assert 0 < chain.mass <= sum(node.source for node in explanation.retrieval.nodes)


def test_every_name_has_one_chain_and_those_of_several_hops_come_first(
        told: tuple[KnowledgeGraph, Explanation]) -> None:
    chains = told[1].chains()
    assert len({chain.nodes[-1] for chain in chains}) == len(chains) or len(told[1].runs) > 1
    far = [len(chain.hops) > 1 for chain in chains]
    assert far == sorted(far, reverse=True)


def test_no_chain_ends_at_a_person_where_a_place_is_asked_for(
        samples: dict[str, KnowledgeGraph]) -> None:
    songs = samples["songbook"]
    explanation = songs.explain("Where was the singer of Paper Lanterns born?")
    people = {"Mara Delgado", "Rosario Quintana", "Ilse Novak", "Anselm Brandt", "Teodor Halvorsen"}
    assert people.isdisjoint(chain.hops[-1].name for chain in explanation.chains())
