"""The workspace as one object, on real documents."""

from pathlib import Path
from typing import Any

import pytest

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.retrieve.seeds import Passages


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    return KnowledgeGraph.sample("songbook", tmp_path_factory.mktemp("home"))


def test_a_sample_goes_where_home_says_and_reads_no_variable(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("QAFD_HOME", str(tmp_path / "app"))
    assert KnowledgeGraph.sample().place.written == str(tmp_path / "user" / ".qafd" / "apple-amazon.db")
    named = KnowledgeGraph.sample(home=tmp_path / "named")
    assert named.place.written == str(tmp_path / "named" / "apple-amazon.db")


def test_a_path_may_be_text(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph(str(tmp_path / "text.db"))
    knowledge.add_text("a.txt", "Ada Byron was born in London.")
    assert "Ada Byron" in knowledge.graph.names


def test_passages_carry_the_text_that_stands_at_their_offsets(songs: KnowledgeGraph) -> None:
    retrieval = songs.retrieve("Who founded the prize that Salt Road won?")
    with songs.store() as store:
        for passage in retrieval.passages:
            text = store.documents.get(passage.document).text
            assert text[passage.start:passage.end] == passage.text


def test_an_answer_quotes_its_documents_and_cites_them(songs: KnowledgeGraph) -> None:
    plan = songs.plan("Where was the singer of Paper Lanterns born?")
    answer = songs.answer(songs.retrieve(plan), plan)
    with songs.store() as store:
        for sentence in answer.sentences:
            document = answer.citations[sentence.citation - 1].passage.document
            text = store.documents.get(document).text
            assert text[sentence.start:sentence.end].strip() == sentence.text
    assert any("born in Valparaíso" in s.text for s in answer.sentences)
    assert not answer.abstained


def test_a_question_about_something_else_is_not_answered(songs: KnowledgeGraph) -> None:
    plan = songs.plan("What is the boiling point of tungsten carbide?")
    assert songs.answer(songs.retrieve(plan), plan).abstained


def test_a_token_budget_bounds_the_tokens_retrieved(songs: KnowledgeGraph) -> None:
    method = FlowDiffusion(mass=8.0, capacity="tokens")
    retrieval = songs.retrieve("Who founded the prize that Salt Road won?", method)
    full = [n for n in retrieval.nodes if n.state == "saturated"]
    assert full
    assert sum(n.capacity for n in full) <= sum(n.source for n in retrieval.nodes) + 1e-6


def test_the_paper_preset_has_the_numbers_of_the_paper() -> None:
    method = PRESETS["paper"].method
    assert (method.mass, method.seeds, method.variant, method.a, method.b) == (
        50.0, 40, "hybrid", 1.0, 0.25)
    assert (method.rule, method.capacity, method.seeding) == (
        "source-degree", "degree", "keywords")


@pytest.mark.parametrize(("wrong", "message"), [
    ({"mass": -1.0}, "mass is -1.0; it lies between 0"),
    ({"variant": "cubic"}, "variant is 'cubic'; choose hybrid"),
    ({"a": 0.0, "b": 0.0}, "closes every edge"),
    ({"mass": float("nan")}, "mass is nan"),
])
def test_a_parameter_out_of_range_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        FlowDiffusion(**wrong)  # type: ignore[arg-type]


def test_unknown_methods_and_samples_are_refused_with_the_choices(songs: KnowledgeGraph) -> None:
    with pytest.raises(ParameterError, match="there is no method 'magic'; choose qafd"):
        songs.retrieve("anything", "magic")
    with pytest.raises(ParameterError, match="choose apple-amazon, songbook"):
        KnowledgeGraph.sample("pears")


@pytest.mark.parametrize(("wrong", "message"), [
    ({"mass": "3"}, "mass is '3'; it is a number"), ({"seeds": "3"}, "seeds is '3'"),
    ({"mass": None}, "mass is 'None'"), ({"foo": 3}, "no parameter 'foo'; it has "),
    ({"method": 3}, "3 is no method")])
def test_values_of_a_wrong_type_are_refused_in_a_sentence(
        wrong: dict[str, Any], message: str, songs: KnowledgeGraph) -> None:
    with pytest.raises(ParameterError, match=message):
        songs.retrieve("Who wrote?", **wrong)


def test_all_documents_deleted_leaves_an_empty_but_usable_workspace(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("note.txt", "Ada Lovelace wrote to Charles Babbage in London.")
    before = knowledge.retrieve("Who wrote to Charles Babbage?")
    with knowledge.store() as store:
        store.documents.delete("note.txt")
    from qafd.ingest import refresh
    refresh(knowledge.url)
    after = knowledge.retrieve("Who wrote to Charles Babbage?")
    assert before.passages
    assert (after.nodes, after.passages) == ((), ())


def test_a_wiped_workspace_forgets_its_old_graph(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("note.txt", "Ada Lovelace wrote to Charles Babbage in London.")
    assert "Ada Lovelace" in knowledge.graph.names
    knowledge.wipe()
    assert len(knowledge.graph) == 0
    knowledge.add_text("note.txt", "Grace Hopper wrote to Howard Aiken in Boston.")
    assert "Grace Hopper" in knowledge.graph.names
    assert "Ada Lovelace" not in knowledge.graph.names


def test_passages_deleted_after_the_graph_was_read_do_not_stop_a_question(tmp_path: Path) -> None:
    from qafd.ingest import refresh

    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("note.txt", "Ada Lovelace wrote to Charles Babbage in London.")
    graph, plan = knowledge.graph, knowledge.plan("Who wrote to Charles Babbage?")
    with knowledge.store() as store:
        store.documents.delete("note.txt")
    refresh(knowledge.url)
    with knowledge.store() as store:
        from qafd.loaded import with_texts
        from qafd.mapped import texts_of
        passages = Passages.build(graph, lambda ids: texts_of(store, ids))
        late = with_texts(FlowDiffusion().retrieve(Corpus(graph, passages), plan), store)
    assert late.nodes
    assert late.passages == ()


def test_alpha_is_the_mass_of_the_papers_rule(songs: KnowledgeGraph) -> None:
    question = "Who founded the prize that Salt Road won?"
    short = songs.retrieve(question, alpha=2, seeds=3, variant="hybrid")
    long = songs.retrieve(question, mass=2.0, rule="source-degree", seeds=3, variant="hybrid")
    assert short.nodes == long.nodes
    assert short.params["rule"] == "source-degree"
    assert short.to_networkx().number_of_nodes() == len(short.nodes)


def test_arguments_of_another_type_are_refused_in_words(songs: KnowledgeGraph) -> None:
    with pytest.raises(ParameterError, match="alpha is 'much'; give a number"):
        songs.retrieve("Who sang Salt Road?", alpha="much")
    with pytest.raises(ParameterError, match="a question is a text, not int"):
        songs.plan(5)  # type: ignore[arg-type]
