"""The workspace as one object, on real documents."""

import inspect
from importlib.resources import files

import pytest

import qafd
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import FlowDiffusion
from qafd.retrieve.seeds import Passages

VERBS = ("Add", "Answer", "Build", "Compare", "Connect", "Disconnect", "Erase", "Explain", "Give", "Index",
         "Link", "Open", "Remove", "Retrieve", "Return", "Rewrite", "Split", "Undo")


def test_the_public_methods_are_few_and_documented_by_a_verb():
    public = {name: item for name, item in vars(KnowledgeGraph).items() if not name.startswith("_")}
    methods = {name: inspect.getdoc(item.__func__ if isinstance(item, classmethod) else item) or ""
               for name, item in public.items() if not isinstance(item, property)}
    assert len(methods) <= 21
    assert len(public) <= 26
    assert {name: doc for name, doc in methods.items() if doc.split(" ")[0] not in VERBS} == {}
    assert all(inspect.getdoc(item) for item in public.values())


def test_the_package_lists_its_public_names_and_is_typed():
    assert set(qafd.__all__) < set(dir(qafd))
    assert all(getattr(qafd, name).__doc__ for name in qafd.__all__)
    assert files("qafd").joinpath("py.typed").is_file()


def test_a_sample_goes_where_home_says_and_reads_no_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("QAFD_HOME", str(tmp_path / "app"))
    assert KnowledgeGraph.sample().place.written == str(tmp_path / "user" / ".qafd" / "apple-amazon.db")
    named = KnowledgeGraph.sample(home=tmp_path / "named")
    assert named.place.written == str(tmp_path / "named" / "apple-amazon.db")


def test_passages_carry_the_text_that_stands_at_their_offsets(songs):
    retrieval = songs.retrieve("Who founded the prize that Salt Road won?")
    with songs.store() as store:
        for passage in retrieval.passages:
            text = store.documents.get(passage.document).text
            assert text[passage.start:passage.end] == passage.text


@pytest.mark.parametrize(("wrong", "message"), [
    ({"mass": "3"}, "mass is '3'; give a number"), ({"seeds": "3"}, "seeds is '3'"),
    ({"mass": None}, "mass is 'None'"), ({"foo": 3}, "no parameter 'foo'; it has "),
    ({"method": 3}, "3 is not a method"), ({"alpha": "much"}, "alpha is 'much'"),
    ({"mass": -1.0}, "mass is -1.0; give a number from 0"), ({"a": 0.0, "b": 0.0}, "closes every edge"),
    ({"variant": "cubic"}, "variant is 'cubic'; choose hybrid"), ({"mass": float("nan")}, "mass is nan"),
    ({"method": "magic"}, "there is no method 'magic'; choose qafd")])
def test_what_cannot_be_a_parameter_is_refused_in_a_sentence(wrong, message, songs):
    with pytest.raises(ParameterError, match=message):
        songs.retrieve("Who wrote?", **wrong)


def test_an_unknown_sample_is_refused_with_the_choices():
    with pytest.raises(ParameterError, match="choose apple-amazon, songbook"):
        KnowledgeGraph.sample("pears")


def test_alpha_is_the_mass_of_the_papers_rule(songs):
    question = "Who founded the prize that Salt Road won?"
    short = songs.retrieve(question, alpha=2, seeds=3, variant="hybrid")
    long = songs.retrieve(question, mass=2.0, rule="source-degree", seeds=3, variant="hybrid")
    assert short.nodes == long.nodes


def test_passages_deleted_after_the_graph_was_read_do_not_stop_a_question(tmp_path):
    from qafd.ingest import refresh

    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("note.txt", "Ada Lovelace wrote to Charles Babbage in London.")
    graph, plan = knowledge.graph, knowledge.plan("Who wrote to Charles Babbage?")
    with knowledge.store() as store:
        store.documents.delete("note.txt")
    refresh(knowledge.url)
    with knowledge.store() as store:
        from qafd.graph_cache import add_texts, texts_of
        passages = Passages.build(graph, lambda ids: texts_of(store, ids))
        late = add_texts(FlowDiffusion().retrieve(Corpus(graph, passages), plan), graph,
                          store)
    assert late.nodes
    assert late.passages == ()
