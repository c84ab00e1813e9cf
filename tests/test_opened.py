"""A bundle from somebody else, opened on the Runs page, and what a stranger can put into one."""

import json
import random
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clicks import page, press, shown
from test_bundle import changed, resealed, unpacked

from qafd.errors import ParseError
from qafd.explain import mass_balance
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import UNSTATED, NoticeKind, notice
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.runs import Run, bundle, keep, kept, load
from qafd.runs.bundle import PARTS, bundled, check_size, examined
from qafd.runs.difference import settings_of
from qafd.runs.replay import recorded
from qafd.runs.report import report
from qafd.storage import open_workspace
from qafd.view.drawing import Drawing
from qafd.view.panel import panel_data
from qafd.view.placement import ASPECT, DRAWN, beside, freeze, prominent

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def run(apple: KnowledgeGraph) -> Run:
    """A run of the sample with a mass of 12, made in a workspace that is not the page's."""
    plan = apple.plan(QUESTION)
    retrieval = apple.retrieve(plan, mass=12.0)
    retrieval = replace(retrieval, notices=(notice(NoticeKind.GIVEN, text="Mind *this*"),))
    return recorded(apple, retrieval, plan, note="from them")


def opened(data: bytes, **query: str) -> Any:
    app = page("runs", **query)
    app.get("file_uploader")[0].set_value(("run.zip", data, "application/zip")).run()
    assert not app.exception
    return app


def panels_of(app: Any) -> Any:
    return json.loads(zlib.decompress(app.get("bidi_component")[0].proto.bytes))["panels"]


@pytest.fixture
def empty(home: Path) -> str:
    KnowledgeGraph.open(home / "fresh.db")
    return "fresh"


def test_a_bundle_is_drawn_and_checked_in_an_empty_workspace(run: Run, empty: str) -> None:
    app = opened(bundled(run), ws=empty)
    text = shown(app)
    assert "It holds." in text
    assert "from them" in text
    assert f"From a bundle of {len(run.retrieved)} nodes; in this workspace: 0." in text
    assert "Mind *this*" in text
    assert "The digest is right" in text
    nodes = {n.id: n for n in run.retrieval.nodes}
    drawn = panels_of(app)[0]["nodes"]
    assert sum(n["state"] == "saturated" for n in drawn) == sum(
        n.kind != "passage" for n in run.retrieved)
    assert len(drawn) == sum(n.kind != "passage" for n in nodes.values())
    app.session_state["bundle_view"] = "Ask again here"
    assert "there is nothing to ask" in shown(app.run())
    app.session_state["bundle_view"] = "Compare with a kept run"
    assert "No run is kept in this workspace" in shown(app.run())
    assert not app.exception


def test_it_is_asked_again_and_compared_with_a_kept_run(run: Run, home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    plan = knowledge.plan(QUESTION)
    with knowledge.store() as store:
        keep(store, recorded(knowledge, knowledge.retrieve(plan, mass=30.0), plan))
    app = opened(bundled(run))
    for view in ("Ask again here", "Compare with a kept run"):
        app.session_state["bundle_view"] = view
        assert not app.run().exception
        first, second = ({n["n"] for n in panel["nodes"] if n["state"] == "saturated"}
                         for panel in panels_of(app))
        assert first < second if view.startswith("Compare") else first == second


def test_keeping_it_puts_it_into_the_history_with_its_own_time(run: Run, empty: str,
                                                               home: Path) -> None:
    app = opened(bundled(run), ws=empty)
    press(app, "Keep")
    with open_workspace(home / "fresh.db") as store:
        row, = kept(store)
        back = load(store, row.id)
    assert (back.made_at, back.note, back.graph) == (run.made_at, "from them", run.graph)
    assert replace(back, id="").retrieval.nodes == run.retrieval.nodes
    assert bundled(replace(back, id="")) == bundled(run)
    text = shown(app)
    assert "Open a bundle" in [e.label for e in app.expander]
    assert f"Of its {len(run.retrieved)} nodes this graph has all but {len(run.retrieved)}." in text


def test_what_was_changed_does_not_hold_and_is_not_kept(run: Run, home: Path) -> None:
    app = opened(changed(bundled(run), "report.md", "All is well"))
    assert [e.value for e in app.error] == ["**It does not hold.**"]
    assert "report.md is not what the manifest states" in shown(app)
    assert next(b for b in app.button if b.label == "Keep").disabled


def test_a_bundle_without_certificate_is_not_sound_and_a_changed_one_not_kept(run: Run) -> None:
    bare = replace(run, retrieval=replace(run.retrieval, certificate=None))
    found = examined(bundled(bare))
    assert (found.intact, found.sound, found.keepable) == (True, False, True)
    found = examined(changed(bundled(bare), "report.md", "All is well"))
    assert (found.intact, found.sound, found.keepable) == (False, False, False)


def with_nodes(run: Run, change: dict[str, Any], **more: Any) -> Run:
    first, *rest = run.retrieval.nodes
    return replace(run, retrieval=replace(
        run.retrieval, nodes=(replace(first, **change), *rest), **more))


def bare(run: Run) -> Retrieval:
    """Its retrieval with one node alone, of which many are quickly read."""
    return replace(run.retrieval, nodes=run.retrieval.nodes[:1], edges=(), passages=(), ranking=())


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda r: with_nodes(r, {"id": r.retrieval.nodes[1].id}), "lists a node twice"),
    (lambda r: with_nodes(r, {"state": "boiling"}), "in a state that there is not"),
    (lambda r: with_nodes(r, {"id": "elsewhere"}), "an edge to a node that it does not list"),
    (lambda r: with_nodes(r, {"importance": -1.0}), "negative importance, flow or weight"),
    (lambda r: with_nodes(r, {}, edges=(replace(r.retrieval.edges[0], weight=-1.0),)),
     "negative importance, flow or weight"),
    (lambda r: with_nodes(r, {}, certificate={"gap": 0.0}), "does not say whether it is optimal"),
    (lambda r: with_nodes(r, {}, parts=(bare(r),) * (PARTS + 1)), f"{PARTS + 1} parts"),
    (lambda r: with_nodes(r, {}, parts=(replace(r.retrieval, parts=(r.retrieval,)),)),
     "parts of parts"),
], ids=["twice", "state", "ends", "importance", "weight", "certificate", "parts", "nested"])
def test_a_run_that_could_not_be_drawn_is_refused(make: Any, sentence: str, run: Run) -> None:
    with pytest.raises(ParseError, match=sentence):
        examined(bundled(make(run)))


def test_a_small_file_that_would_fill_the_memory_is_not_parsed(run: Run) -> None:
    obj = json.loads(unpacked(bundled(run))["run.json"])
    obj["retrieval"]["params"]["mass"] = [[]] * 1_000_000
    with pytest.raises(ParseError, match="at most 2,000,000 are read"):
        examined(resealed(bundled(run), obj))


def test_what_is_too_large_to_be_drawn_says_so_and_can_be_verified(run: Run) -> None:
    hub = RetrievedNode("hub", "hub", "passage", 1.0, 1.0, "saturated", UNSTATED)
    rim = tuple(replace(hub, id=f"{i}", kind="entity") for i in range(2100))
    star = replace(run.retrieval, nodes=(hub, *rim), edges=tuple(
        RetrievedEdge("hub", n.id, "mention", 1.0, 1.0) for n in rim))
    with pytest.raises(ParseError, match="4,410,000 ways through them.*'qafd verify'"):
        check_size(star)
    check_size(replace(star, nodes=tuple(replace(n, kind="entity") for n in star.nodes)))
    many = replace(star, nodes=rim * 10)
    with pytest.raises(ParseError, match="21,000 nodes and .*at most 20,000"):
        check_size(many)
    assert examined(bundled(replace(run, retrieval=star))).intact


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def test_whatever_is_changed_in_a_run_it_is_refused_or_it_can_be_drawn(run: Run) -> None:
    rng, drawn = random.Random(0), 0
    spots = places(json.loads(unpacked(bundled(run))["run.json"]))
    values = (-1, 0, 1e149, -1e149, 1e-300, 10**400, "", "x" * 5000, "\ud800<b>", None, [], {},
              True, [1], {"a": 1}, 0.5)
    for _ in range(25):
        obj = json.loads(unpacked(bundled(run))["run.json"])
        *way, last = rng.choice(spots[1:])
        inner = obj
        for key in way:
            inner = inner[key]
        inner[last] = rng.choice(values)
        try:
            found = examined(resealed(bundled(run), obj)).run
            check_size(found.retrieval)
        except ParseError:
            continue
        drawn += 1
        retrieval = found.retrieval
        edges = [(e.source, e.target) for e in retrieval.edges]
        positions = (beside(found.layout, prominent(retrieval, DRAWN), edges, ASPECT)
                     if found.layout else freeze([retrieval], (), DRAWN, ASPECT)[0])
        for contract in (True, False):
            json.dumps(panel_data([retrieval], Drawing(contract), positions=positions),
                       allow_nan=False)
        for node in retrieval.nodes:
            mass_balance(retrieval, node.id)
            found.naming(node.name)
        assert report(found)
        assert settings_of(found)
    assert drawn > 3


def test_the_limit_of_an_upload_is_that_of_the_configuration() -> None:
    import tomllib

    from qafd.app.runs.opened import UPLOAD
    file = Path(__file__).parents[1] / ".streamlit" / "config.toml"
    assert tomllib.loads(file.read_text("utf-8"))["server"]["maxUploadSize"] == UPLOAD
    assert bundle.LARGEST >= UPLOAD * 2**20


@pytest.mark.browser
def test_a_bundle_is_dropped_looked_into_and_kept(
        run: Run, browser: Any, app_url: str, app_home: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.zip").write_bytes(bundled(run))
    (tmp_path / "other.zip").write_bytes(b"PK\3\4 no bundle")
    KnowledgeGraph.open(app_home / "nothing.db")
    context = browser.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark")
    view = context.new_page()
    view.goto(f"{app_url}/runs?ws=nothing")
    view.get_by_text("Open a bundle").click()
    view.locator("input[type=file]").set_input_files(tmp_path / "other.zip")
    view.get_by_text("This is no readable bundle of a run").wait_for()
    view.locator("input[type=file]").set_input_files(tmp_path / "theirs.zip")
    view.locator("[data-painted]").wait_for(timeout=30_000)
    view.get_by_text("It holds.", exact=True).wait_for()
    assert view.locator("input[type=file]").count() == 0
    view.get_by_role("button", name=re.compile("^Steve Jobs, entity")).click()
    view.get_by_text("Steve Jobs led Apple again from 1997.").first.wait_for()
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    view.get_by_role("button", name="Keep", exact=True).click()
    view.get_by_text("Made in another workspace").wait_for()
    assert "run=" in view.url
    context.close()
