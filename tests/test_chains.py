"""Laws of the chains: from a seed, name by name, each hop with a sentence of a passage that has both."""

from collections import Counter

import pytest

from qafd.explain.chains import LONGEST, WAYS, Chain, _ChainSearch, best_chains, find_chains
from qafd.ingest import index
from qafd.knowledge import KnowledgeGraph, find_evidence, read_corpus
from qafd.records import node_id

ASKED = {
    "apple-amazon": ("Introduce Steve Jobs's products in Apple.",
                     "Which service did the successor of Jeff Bezos build?"),
    "songbook": ("Where was the founder of the prize born that Salt Road won?",
                 "Where was the singer of Paper Lanterns born?"),
    "elements": ("Who foretold the element that Clemens Winkler found?",)}
CASES = [(sample, question, params) for sample, questions in ASKED.items() for question in questions
         for params in ({}, {"diffusions": "each"}, {"layer": "entities"})]
DOCUMENTS = {
    "quiet-bells.md": "# Quiet Bells\n\nQuiet Bells is a song by Ada Brunel. It was recorded in Oslo.",
    "ada-brunel.md": "# Ada Brunel\n\nAda Brunel is a singer. She was born in Galway, near the harbor.",
    "galway.md": "# Galway\n\nGalway is a town on the coast.",
    "loud-bells.md": "# Loud Bells\n\nLoud Bells is a song by Otto Krantz. It was recorded in Riga.",
    "otto-krantz.md": "# Otto Krantz\n\nOtto Krantz is a singer. He was born in Kiel."}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return {name: KnowledgeGraph.sample(name, home) for name in ASKED}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[1][:24]} {case[2]}")
def told(request, samples):
    sample, question, params = request.param
    return samples[sample], samples[sample].explain(question, **params)


def test_a_chain_leads_from_a_seed_over_names_that_mass_or_the_ranking_reached(told):
    knowledge, explanation = told
    reached = {node.id for node in explanation.retrieval.nodes}
    with knowledge.store() as store:
        nodes = store.graph.nodes(one.id for one in explanation.retrieval.ranking)
        for some in store.passages.names(node.key for node in nodes.values()).values():
            reached.update(name.node for name in some)
    chains = explanation.chains()
    assert chains
    for chain in chains:
        assert chain.nodes[0] in explanation.retrieval.seeds
        assert reached.issuperset(chain.nodes)
        assert len(set(chain.nodes)) == len(chain.nodes)
        assert [(hop.source, hop.target) for hop in chain.hops] == list(
            zip(chain.nodes, chain.nodes[1:], strict=False))


def test_each_hop_has_a_sentence_of_it_and_a_passage_or_sentence_with_both(told):
    """The sentence has the next name, or the one before where the passage is titled with the next."""
    knowledge, explanation = told
    graph = knowledge.graph
    passages = read_corpus(knowledge, graph).passages
    titles = dict(zip(passages.rows.tolist(), passages.title.tolist(), strict=True))
    for chain in explanation.chains():
        for hop in chain.hops:
            with knowledge.store() as store:
                text = " ".join(store.passages.get([hop.chunk])[hop.chunk].text.split())
            said = {hop.source: set(), hop.target: set()}
            for one in find_evidence(knowledge, said):
                if one.chunk == hop.chunk:
                    said[one.node].add(" ".join(one.text.split()))
            assert hop.sentence in text
            title = titles[graph.row[node_id("passage", hop.chunk)]]
            titled = title >= 0 and graph.ids[title] == hop.target
            assert hop.sentence in said[hop.target] or titled and hop.sentence in said[hop.source]
            assert hop.level == "passage" or hop.sentence in said[hop.source]
            assert (hop.label != "") == (hop.level == "relation")


def test_the_chains_are_the_best_of_each_end_and_their_mass_is_what_runs_there(told):
    run, graph = told[1].runs[0], told[0].graph
    with run.open_store() as store:
        search = _ChainSearch(run.problem, run.streams, run.retrieval.ranking, store, None)
        ways = list(search.reach())
        found = find_chains(run.problem, run.streams, run.retrieval.ranking, store, 10_000)
    assert max(Counter((rows[-1], len(rows)) for rows in ways).values()) == WAYS
    best = {}
    for rows in ways:
        score = search.rate(rows)[0]
        assert score >= 0
        best[graph.ids[rows[-1]]] = max(score, best.get(graph.ids[rows[-1]], 0.0))
    assert {chain.nodes[-1]: chain.score for chain in found} == {
        end: score for end, score in best.items() if score > 0}
    for chain in found:
        assert 0 <= chain.covered <= 1
        assert 2 <= len(chain.nodes) <= LONGEST + 1
        for hop in chain.hops:
            through = dict(run.streams.carriers(graph.row[hop.source], graph.row[hop.target], ()))
            passage = graph.row[node_id("passage", hop.chunk)]
            assert hop.flow == sum(mass for row, mass in through.items() if row in (None, passage))


def test_a_chain_of_one_hop_comes_first_only_with_as_much_of_the_question_as_any():
    def chain(end, hops, score, covered):
        names = ("seed", *(f"{end}{place}" for place in range(hops - 1)), end)
        return Chain(names, "seed", (None,) * hops, score, covered)  # type: ignore[arg-type]

    near, far = chain("near", 1, 0.9, 0.5), chain("far", 2, 0.3, 0.8)
    assert best_chains([near, far], 8) == (far, near)
    enough = chain("near", 1, 0.9, 0.8)
    assert best_chains([enough, far], 8) == (enough, far)


@pytest.mark.parametrize("question", ["Introduce Steve Jobs's products in Apple.",
                                      "Which service did the successor of Jeff Bezos build?"])
def test_the_first_chain_of_the_first_sample_has_two_hops(samples, question):
    assert len(samples["apple-amazon"].explain(question).chains()[0].hops) >= 2


def test_a_chain_reaches_the_birthplace_of_the_singer_over_the_singer(tmp_path):
    index(tmp_path / "songs.db", [(name, text.encode()) for name, text in DOCUMENTS.items()])
    explanation = KnowledgeGraph.open(tmp_path / "songs.db").explain(
        "Where was the singer of Quiet Bells born?")
    first = explanation.chains()[0]
    assert [first.start, *(hop.name for hop in first.hops)] == ["Quiet Bells", "Ada Brunel", "Galway"]
    assert first.hops[-1].sentence == "She was born in Galway, near the harbor."
    # "singer" is in none of its sentences; "born" is in the last, "Quiet Bells" is where it begins.
    assert [chain.covered for chain in explanation.chains()[:2]] == [0.75, 0.5]
    assert [hop.label for hop in first.hops] == ["is song by", ""]


def test_no_chain_ends_at_a_person_where_a_place_is_asked_for(samples):
    songs = samples["songbook"]
    explanation = songs.explain("Where was the singer of Paper Lanterns born?")
    people = {"Mara Delgado", "Rosario Quintana", "Ilse Novak", "Anselm Brandt", "Teodor Halvorsen"}
    assert people.isdisjoint(chain.hops[-1].name for chain in explanation.chains())


def test_a_chain_can_end_at_a_given_name_of_any_kind(samples):
    explanation = samples["songbook"].explain("Where was the singer of Paper Lanterns born?")
    for name in ("Mara Delgado", "Lisbon"):
        chain, = explanation.chains(to=name)
        assert chain.nodes[-1] == explanation.graph.ids[explanation.find(name)]
        assert chain.nodes[0] in explanation.retrieval.seeds
    best = explanation.chains()[0]
    assert explanation.chains(to=best.nodes[-1])[0].nodes[-1] == best.nodes[-1]


def test_a_passage_that_came_after_the_question_is_in_no_chain(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "shared.db")
    knowledge.add_text("a.txt", "Ada Brenner met Karl Voss in Lindau.")
    question = "Whom did Ada Brenner meet?"
    explanation = knowledge.explain(question)
    before = explanation.chains(3)
    assert before
    knowledge.add_text("b.txt", "Ada Brenner met Karl Voss in Lindau. Karl Voss met Eva Stein.")
    assert explanation.chains(3) == before
    assert "Eva Stein" in {hop.name for chain in knowledge.explain(question).chains(3) for hop in chain.hops}
