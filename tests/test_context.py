"""What a model is shown of a retrieval: the method's own structure, strong passages, a budget."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.explain.reach import put_reached_first
from qafd.knowledge import KnowledgeGraph, draft_answer
from qafd.reading.text import count_tokens
from qafd.reading.text.markdown import CITED
from qafd.reading.text.plaintext import one_line
from qafd.retrieve import METHODS
from qafd.retrieve.base import StructureKind

BORN = "Where was the singer of Paper Lanterns born?"
WITH_TEXTS = {"community": ("Community reports", StructureKind.REPORT),
              "tree": ("Summaries", StructureKind.SUMMARY)}


@pytest.fixture(scope="module")
def songs(tmp_path_factory):
    knowledge = KnowledgeGraph.sample("songbook", tmp_path_factory.mktemp("home"))
    knowledge.build_layers()
    return knowledge


@pytest.fixture(scope="module")
def found(songs):
    return {method: songs.retrieve(BORN, method) for method in METHODS}


def block(text, title):
    """The rows under a title of a context."""
    below = text.partition(f"{title}:\n")[2]
    return below.partition("\n\n")[0].split("\n") if below else []


@pytest.mark.parametrize("method", METHODS)
def test_a_block_stands_in_the_prompt_of_the_methods_that_have_its_structure(method, songs, found):
    text = draft_answer(songs, found[method], budget=3000).context.text
    shown = {title for title in ("Reasoning paths", "Community reports", "Summaries")
             if block(text, title)}
    expected = {"Reasoning paths"} if method in ("path", "flow_path") else set()
    if method in WITH_TEXTS:
        expected.add(WITH_TEXTS[method][0])
    assert shown == expected


@pytest.mark.parametrize("method", ["path", "flow_path"])
def test_paths_of_a_method_are_shown_node_by_node_best_first(method, songs, found):
    names = {node.id: node.name for node in found[method].nodes}
    paths = [one for one in found[method].structures if one.kind == StructureKind.PATH]
    rows = block(draft_answer(songs, found[method], budget=20_000).context.text, "Reasoning paths")
    assert len(rows) == len(paths)
    for path, row in zip(paths, rows, strict=True):
        at = [row.find(one_line(names[node], 60)) for node in path.nodes]
        assert -1 not in at
    assert [one.score for one in paths] == sorted((one.score for one in paths), reverse=True)


@pytest.mark.parametrize("method", WITH_TEXTS)
def test_reports_and_summaries_are_shown_with_their_texts(method, songs, found):
    title, kind = WITH_TEXTS[method]
    rows = block(draft_answer(songs, found[method], budget=20_000).context.text, title)
    texts = [one_line(one.text, 8000) for one in found[method].structures if one.kind == kind]
    assert rows
    assert all(any(CITED.sub("", text) in row for row in rows) for text in texts)


@given(st.sampled_from(list(METHODS)), st.integers(1, 4000))
def test_a_context_never_exceeds_its_budget_and_numbers_its_passages_from_one(
        songs, found, method, budget):
    context = draft_answer(songs, found[method], budget=budget).context
    assert count_tokens(context.text) <= budget
    assert [source.number for source in context.sources] == list(range(1, len(context.sources) + 1))
    assert len(context.sources) + context.left_out + context.copies + context.weak == len(
        found[method].passages)


@pytest.mark.parametrize("method", METHODS)
def test_passages_below_a_share_of_the_best_score_are_left_out(method, songs, found):
    passages = found[method].passages
    context = draft_answer(songs, found[method], budget=100_000).context
    least = passages[0].score * METHODS[method].shown  # type: ignore[attr-defined]
    assert {source.passage.id for source in context.sources} == {
        passage.id for passage in passages if passage.score >= least}


def test_passages_come_first_by_rank_below_their_file_with_their_lines(tmp_path):
    kg = KnowledgeGraph.open(tmp_path / "w.db")
    kg.add_text("ada.txt", "Ada Lovelace met Charles Babbage.\n\nShe wrote notes in London. See [7].")
    kg.add_text("bab.txt", "Charles Babbage built an engine.")
    retrieval = kg.retrieve("Whom did Ada Lovelace meet?")
    context = draft_answer(kg, retrieval).context
    assert [source.passage.id for source in context.sources] == [
        passage.id for passage in put_reached_first(retrieval).passages][:len(context.sources)]
    assert context.text.startswith("Passages:\n[1] ada.txt\nAda")
    assert "Babbage.\nShe wrote" in context.text
    assert "See (7)." in context.text


def test_a_near_copy_is_sent_once_and_counted(songs, found):
    first, *others = found["qafd"].passages
    copy = replace(first, id="copy", chunk="copy", text=first.text + " Indeed.")
    doubled = replace(found["qafd"], passages=(first, copy, *others))
    once, twice = draft_answer(songs, found["qafd"]).context, draft_answer(songs, doubled).context
    assert twice.copies == once.copies + 1
    assert [s.passage.id for s in twice.sources] == [s.passage.id for s in once.sources]


def test_a_chain_is_sent_only_with_sentences_that_no_sent_passage_has(songs, found):
    roomy = draft_answer(songs, found["qafd"], budget=20_000).context
    hops = [hop.sentence for chain in songs.explain(found["qafd"]).chains() for hop in chain.hops]
    rows = " ".join(block(roomy.text, "Reasoning paths"))
    sent = " ".join(one_line(source.passage.text, 8000) for source in roomy.sources)
    for sentence in hops:
        assert (one_line(sentence, 400) in rows) == (one_line(sentence, 400) not in sent)
