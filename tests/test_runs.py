"""The history of runs: what is kept is what comes back, and deleting can be undone once."""

from dataclasses import replace

import pytest

from qafd.errors import ParseError, StoreError
from qafd.flow.verify import FindingKind, verify
from qafd.knowledge import KnowledgeGraph
from qafd.runs import delete, keep, kept, load
from qafd.runs.replay import recorded
from qafd.runs.stored import plain_of, record_of
from qafd.storage import open_workspace

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def run(apple):
    plan = apple.plan(QUESTION)
    return recorded(apple, apple.retrieve(plan), plan, layout={"a": (0.25, 1.5)},
                    note="first\ntry")


@pytest.fixture
def store(path):
    with open_workspace(path) as opened:
        yield opened


def test_a_kept_run_comes_back_with_every_number(run, store):
    back = load(store, keep(store, run))
    assert back.retrieval.nodes == run.retrieval.nodes
    assert back.retrieval.edges == run.retrieval.edges
    assert back.retrieval.passages == run.retrieval.passages
    assert verify(back.retrieval.to_dict()).findings[2].kind is FindingKind.UNCHANGED
    stated = run.retrieval.certificate
    assert back.retrieval.certificate == {
        **stated, "balance": list(stated["balance"]), "flaws": list(stated["flaws"])}
    assert back.retrieval.made_by == run.retrieval.made_by
    assert back.layout == {"a": (0.25, 1.5)}
    assert back.quotes == run.quotes
    assert (back.tokens, back.graph, back.note) == (run.tokens, run.graph, "first try")
    assert (back.plan.embedding == run.plan.embedding).all()
    assert (back.plan.keyword_embeddings == run.plan.keyword_embeddings).all()
    assert back.plan.keywords == run.plan.keywords


def test_the_list_is_newest_first_and_says_what_was_asked(run, store):
    first, second = keep(store, run), keep(store, replace(run, note=""))
    rows = kept(store)
    assert [row.id for row in rows] == [second, first]
    assert rows[1].question == QUESTION
    assert rows[1].params == run.retrieval.params
    assert (rows[1].nodes, rows[1].tokens) == (len(run.retrieved), run.tokens)
    assert rows[1].exact is True
    assert rows[1].changed == {"mass": 30.0}


@pytest.mark.parametrize("body", [b"no zlib", b"x\x9cK\xad\x00\x00\x00\x00"])
def test_a_damaged_run_is_refused_in_one_sentence(body, run, store):
    key = keep(store, run)
    with store.transaction() as connection:
        connection.execute("DROP TRIGGER runs_never_change")
        connection.execute("UPDATE runs SET body = ?", (body,))
    with pytest.raises(StoreError, match="is damaged; ask its question again"):
        load(store, key)


def test_subqueries_come_back_with_their_plans_and_their_parts(apple, store):
    plan = apple.plan("Who founded Apple and which cities lie on the Amazon?", subqueries=True)
    run = recorded(apple, apple.retrieve(plan, subqueries="on"), plan)
    back = load(store, keep(store, run))
    assert [p.question for p in back.plan.subqueries] == [p.question for p in plan.subqueries]
    assert [p.nodes for p in back.retrieval.parts] == [p.nodes for p in run.retrieval.parts]
    assert len(back.retrieval.parts) == 2
    assert verify(back.retrieval.to_dict()).ok


def test_the_last_deletion_can_be_undone_and_those_before_are_gone_for_good(run, store):
    a, b, c = (keep(store, run) for _ in range(3))
    delete(store, [a])
    delete(store, [b, c])
    assert (kept(store), store.runs.list_deleted()) == ((), 2)
    assert store.runs.undo() == 2
    assert {row.id for row in kept(store)} == {b, c}
    with pytest.raises(StoreError, match="no saved run"):
        store.runs.load(a)


def test_an_unknown_or_ambiguous_id_is_refused(run, store):
    keys = [keep(store, run) for _ in range(17)]  # two of them begin alike
    with pytest.raises(StoreError, match="no kept run 'xyz'"):
        load(store, "xyz")
    with pytest.raises(StoreError, match="no kept run ''"):
        load(store, "")
    twice = next(k[0] for k in keys if sum(o[0] == k[0] for o in keys) > 1)
    with pytest.raises(StoreError, match="More than one run begins"):
        load(store, twice)


def test_a_run_leaves_with_a_document_that_it_quotes(path, run):
    knowledge = KnowledgeGraph.open(path)
    knowledge.add_text("steve-jobs.md", "Steve Jobs led Apple.")
    with knowledge.store() as store:
        keep(store, run)
        store.documents.delete("steve-jobs.md")
        store.documents.purge("steve-jobs.md")
        assert kept(store) == ()


@pytest.mark.parametrize(("change", "sentence"), [
    ({"tokens": float("nan")}, r"the run.tokens is not a finite number"),
    ({"tokens": 1.5}, "no whole number"),
    ({"tokens": True}, "not a finite number"),
    ({"made_at": 7}, "the run.made_at is not text"),
    ({"layout": {"a": [1.0]}}, r"layout\['a'\] has 1 values instead of 2"),
    ({"layout": {"a": [1.0, float("inf")]}}, "not a finite number"),
    ({"quotes": {}}, "the run.quotes is not a list"),
    ({"quotes": [{"text": "x"}]}, r"the run.quotes\[0\] has no 'title'"),
    ({"quotes": [{"text": "x", "title": "", "where": "", "best": 1}]}, "not true or false"),
    ({"retrieval": []}, "the run.retrieval is not an object"),
    ({"retrieval": {"certificate": {"gap": float("nan")}}}, "the run.retrieval"),
], ids=lambda value: str(value)[:40])
def test_a_value_of_another_type_is_named(change, sentence, run):
    with pytest.raises(ParseError, match=sentence):
        record_of(type(run), {**plain_of(run), **change}, "the run")


@pytest.mark.parametrize(("change", "sentence"), [
    ({"shape": [1, 1, 384]}, "do not fit its shape"), ({"shape": [-384]}, "do not fit its shape"),
    ({"shape": [383]}, "do not fit its shape"), ({"float32": "?"}, "not in base 64"),
    ({"shape": [0, 10**30], "float32": ""}, "do not fit its shape"),
    ({"float32": "\u202e"}, "not in base 64"),
    ({"shape": [1], "float32": "AADAfw=="}, "holds NaN or infinity")], ids=str)
def test_vectors_have_the_shape_and_the_numbers_that_they_state(change, sentence, run):
    plain = plain_of(run.plan)
    plain["embedding"] |= change
    with pytest.raises(ParseError, match=sentence):
        record_of(type(run.plan), plain, "the plan")
