"""Saved runs and their files: every number comes back, deleting can be undone once."""

import json
import random
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from qafd.cli.streams import LARGEST
from qafd.errors import ParseError, StoreError
from qafd.explain.edges import mass_balance
from qafd.runs import changed_params, list_runs, load_run, save_run
from qafd.runs.difference import record_run, replay_run, settings_of
from qafd.runs.file import PARTS, read_run, run_json, write_run
from qafd.runs.stored import plain_of, record_of
from qafd.runs.verify import FindingKind, seal, verify
from qafd.storage import open_workspace
from qafd.view.drawing import Drawing
from qafd.view.panel import panel_data
from qafd.view.placement import add_new, freeze

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def run(apple):
    plan = apple.plan(QUESTION)
    return record_run(apple, apple.retrieve(plan), plan, layout={"a": (0.25, 1.5)},
                    note="first\ntry")


@pytest.fixture
def store(path):
    with open_workspace(path) as opened:
        yield opened


def test_a_saved_run_comes_back_with_every_number(run, store):
    back = load_run(store, save_run(store, run))
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
    assert (back.tokens, back.graph, back.note, back.planner) == (
        run.tokens, run.graph, "first try", run.planner)


def test_the_list_is_newest_first_and_says_what_was_asked(run, store):
    first, second = save_run(store, run), save_run(store, replace(run, note=""))
    rows = list_runs(store)
    assert [row.id for row in rows] == [second, first]
    assert rows[1].question == QUESTION
    assert rows[1].params == run.retrieval.params
    assert (rows[1].nodes, rows[1].tokens) == (len(run.retrieved), run.tokens)
    assert rows[1].exact is True
    assert changed_params(rows[1].method, rows[1].params) == {"mass": 30.0}


@pytest.mark.parametrize("body", [b"no zlib", b"x\x9cK\xad\x00\x00\x00\x00"])
def test_a_damaged_run_is_refused_in_one_sentence(body, run, store):
    key = save_run(store, run)
    with store.transaction() as connection:
        connection.execute("DROP TRIGGER runs_never_change")
        connection.execute("UPDATE runs SET body = ?", (body,))
    with pytest.raises(StoreError, match="is damaged; ask its question again"):
        load_run(store, key)


def test_further_questions_come_back_with_their_parts(apple, store):
    plan = apple.plan("Who founded Apple?", further=["Which cities lie on the Amazon?"])
    run = record_run(apple, apple.retrieve(plan), plan)
    back = load_run(store, save_run(store, run))
    assert [p.nodes for p in back.retrieval.parts] == [p.nodes for p in run.retrieval.parts]
    assert len(back.retrieval.parts) == 2
    assert replay_run(back, apple).equal
    assert verify(back.retrieval.to_dict()).ok


def test_an_unknown_or_ambiguous_id_is_refused(run, store):
    keys = [save_run(store, run) for _ in range(17)]  # two of them begin alike
    with pytest.raises(StoreError, match="no saved run 'xyz'"):
        load_run(store, "xyz")
    with pytest.raises(StoreError, match="no saved run ''"):
        load_run(store, "")
    twice = next(k[0] for k in keys if sum(o[0] == k[0] for o in keys) > 1)
    with pytest.raises(StoreError, match="More than one run begins"):
        load_run(store, twice)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"tokens": float("nan")}, r"the run.tokens is not a finite number"),
    ({"tokens": 1.5}, "the run.tokens"),
    ({"tokens": True}, "the run.tokens"),
    ({"made_at": 7}, "the run.made_at"),
    ({"layout": {"a": [1.0]}}, "the run.layout.a"),
    ({"layout": {"a": [1.0, float("inf")]}}, "the run.layout.a.1 is not a finite number"),
    ({"quotes": {}}, "the run.quotes"),
    ({"quotes": [{"text": "x"}]}, "the run.quotes.0.title"),
    ({"quotes": [{"text": "x", "title": "", "where": "", "best": 1}]}, "the run.quotes.0.best"),
    ({"retrieval": []}, "the run.retrieval"),
    ({"retrieval": {"certificate": {"gap": float("nan")}}}, "the run.retrieval.certificate.gap"),
], ids=lambda value: str(value)[:40])
def test_a_value_of_another_type_is_named(change, sentence, run):
    with pytest.raises(ParseError, match=sentence):
        record_of(type(run), {**plain_of(run), **change}, "the run")


@pytest.mark.parametrize("printed", [False, True], ids=["saved", "query --json"])
def test_a_run_comes_back_from_its_file(printed, run):
    obj = seal(run.retrieval.to_dict()) if printed else json.loads(write_run(run))
    assert verify(obj).ok
    back = read_run(json.dumps(obj).encode())
    assert back.retrieval.nodes == run.retrieval.nodes
    assert back.retrieval.passages == run.retrieval.passages
    assert verify(back.retrieval.to_dict()).ok
    assert back.quotes == (() if printed else run.quotes)
    assert (write_run(back) == write_run(run)) is not printed


@pytest.mark.parametrize("path", [("nodes", 0, "mass"), ("passages", 0, "score"), ("run", "tokens")], ids=str)
def test_a_changed_number_is_refused(path, run):
    obj = run_json(run)
    *way, last = path
    inner = obj = json.loads(json.dumps(obj, default=str))
    for key in way:
        inner = inner[key]
    inner[last] += 1
    with pytest.raises(ParseError, match="failed its check"):
        read_run(json.dumps(obj).encode())


def with_node(run, node, **more):
    first, *rest = run.retrieval.nodes
    return replace(run, retrieval=replace(
        run.retrieval, nodes=(replace(first, **node), *rest), **more))


def bare(run):
    return replace(run.retrieval, nodes=run.retrieval.nodes[:1], edges=(), passages=(), ranking=())


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda r: with_node(r, {"id": r.retrieval.nodes[1].id}), "lists a node twice"),
    (lambda r: with_node(r, {"state": "boiling"}), "unknown state"),
    (lambda r: with_node(r, {"id": "elsewhere"}), "an edge to a node that it does not list"),
    (lambda r: with_node(r, {"importance": -1.0}), "negative importance, flow, weight or mass"),
    (lambda r: with_node(r, {}, edges=(replace(r.retrieval.edges[0], weight=-1.0),)),
     "negative importance, flow, weight or mass"),
    (lambda r: with_node(r, {}, certificate={"gap": 0.0}), "does not state whether it is optimal"),
    (lambda r: with_node(r, {}, parts=(bare(r),) * (PARTS + 1)), f"{PARTS + 1} parts"),
    (lambda r: with_node(r, {}, parts=(replace(r.retrieval, parts=(r.retrieval,)),)), "parts of parts"),
], ids=["twice", "state", "ends", "importance", "weight", "certificate", "parts", "nested"])
def test_a_run_that_cannot_be_drawn_is_refused(make, sentence, run):
    with pytest.raises(ParseError, match=sentence):
        read_run(write_run(make(run)).encode())


def test_a_run_too_large_to_draw_is_refused(run):
    hub = replace(run.retrieval.nodes[0], id="hub", kind="passage")
    rim = tuple(replace(hub, id=f"{i}", kind="entity") for i in range(2100))
    edge = run.retrieval.edges[0]
    star = replace(run.retrieval, certificate=None, passages=(), parts=(), nodes=(hub, *rim),
                   edges=tuple(replace(edge, source="hub", target=node.id) for node in rim))
    with pytest.raises(ParseError, match="4,410,000 ways .*'qafd verify'"):
        read_run(write_run(replace(run, retrieval=star)).encode())
    small = replace(star, nodes=tuple(replace(node, kind="entity") for node in star.nodes))
    assert len(read_run(write_run(replace(run, retrieval=small)).encode()).retrieval.nodes) == 2101


@pytest.mark.parametrize(("data", "sentence"), [
    (b"", "not JSON"), (b"\xff\xfe", "not JSON"), (b"[" * 10**5, "not JSON"), (b"9" * 5000, "not JSON"),
    (b"[]", "not a run"), (b'{"query": 1}', "not a run"), (b'{"a": NaN}', "holds NaN"),
    (b"[" + b"[]," * 1_000_000 + b"[]]", "at most 2,000,000 are read"),
    (b'{"query": 1, "method": "x", "nodes": []}', "the run.retrieval.query"),
    (b'{"query": "", "method": "x", "nodes": []}', "the run.retrieval.params"),
], ids=["empty", "no-utf8", "deep", "long-number", "list", "object", "nan", "many", "type", "missing"])
def test_a_file_that_is_not_a_run_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(ParseError, match=sentence) as refused:
        read_run(data)
    assert "\n" not in str(refused.value)


def list_places(value, path=()):
    inner = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    return [path, *(place for key, item in inner for place in list_places(item, (*path, key)))]


def test_a_run_with_any_other_value_is_refused_or_can_be_drawn(run):
    rng, drawn = random.Random(0), 0
    # without a certificate there is no digest that refuses every change
    plain = write_run(replace(run, retrieval=replace(run.retrieval, certificate=None)))
    places = list_places(json.loads(plain))
    values = (-1, 0, 1e149, -1e149, 1e-300, 10**400, "", "x" * 5000, "\ud800<b>", None, [], {},
              True, [1], {"a": 1}, 0.5)
    for _ in range(25):
        obj = json.loads(plain)
        *way, last = rng.choice(places[1:])
        inner = obj
        for key in way:
            inner = inner[key]
        inner[last] = rng.choice(values)
        try:
            back = read_run(json.dumps(obj).encode())
        except ParseError:
            continue
        drawn += 1
        retrieval = back.retrieval
        positions = (add_new(back.layout, retrieval) if back.layout else freeze([retrieval], ())[0])
        for contract in (True, False):
            json.dumps(panel_data([retrieval], Drawing(contract), positions=positions), allow_nan=False)
        for node in retrieval.nodes:
            mass_balance(retrieval, node.id)
            back.quote_name(node.name)
        assert settings_of(back)
    assert drawn >= 3


def test_an_upload_may_be_as_large_as_the_largest_file_that_is_read():
    config = Path(__file__).parents[1] / ".streamlit" / "config.toml"
    limit = tomllib.loads(config.read_text("utf-8"))["server"]["maxUploadSize"]
    assert limit * 2**20 <= LARGEST
