"""The bundled samples: what Figure 1 claims, and that they are what their documents make."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from qafd.knowledge import KnowledgeGraph
from qafd.package import assets
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import FlowDiffusion
from qafd.samples import EXAMPLES, SAMPLES
from qafd.storage.sqlite.tables import STEPS

QUESTION = "Introduce Steve Jobs's products in Apple."
ON_TOPIC = {"apple-inc.md", "macintosh.md", "steve-jobs.md", "tim-cook.md"}


@pytest.fixture(scope="module")
def figure1(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    return KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("home"))


def retrieved(retrieval: Retrieval) -> set[str]:
    return {n.id for n in retrieval.nodes if n.state == "saturated" and n.kind == "entity"}


def on_topic(knowledge: KnowledgeGraph, entities: set[str]) -> set[str]:
    """The entities that some document about the company mentions."""
    return {e.node for e in knowledge.evidence(entities) if e.document in ON_TOPIC}


def test_query_aware_and_plain_retrieval_differ_as_the_paper_claims(
        figure1: KnowledgeGraph) -> None:
    plan = figure1.plan(QUESTION)
    kept, brought, differing = [], [], []
    for mass in (30.0, 60.0):
        aware = retrieved(figure1.retrieve(plan, FlowDiffusion(mass=mass)))
        plain = retrieved(figure1.retrieve(plan, FlowDiffusion(mass=mass, variant="plain")))
        share = len(on_topic(figure1, aware)) / len(aware)
        kept.append(share - len(on_topic(figure1, plain)) / len(plain))
        brought.append(len(on_topic(figure1, aware)) - len(on_topic(figure1, plain)))
        differing.append(len(aware ^ plain))
    assert min(differing) >= 4, "a viewer could not tell the two pictures apart"
    assert brought[0] >= 2, "at a small mass the question brings more of the company's nodes"
    assert kept[1] >= 0.05, "at a large mass it keeps more of the fruit and the river out"


def test_the_first_view_shows_jobs_products_and_no_fruit(figure1: KnowledgeGraph) -> None:
    first = figure1.retrieve(QUESTION)
    names = {n.name for n in first.nodes if n.state == "saturated"}
    assert {"Steve Jobs", "Apple", "iPod", "iPhone", "iPad", "iMac"} <= names
    assert not names & {"Fuji", "Gala", "Rosaceae", "Kindle", "Manaus"}


def test_multi_hop_question_reaches_the_birthplace_of_the_singer(tmp_path: Path) -> None:
    songs = KnowledgeGraph.sample("songbook", tmp_path)
    best = songs.retrieve("Where was the singer of Paper Lanterns born?").passages[:2]
    assert {p.title for p in best} == {"Paper Lanterns (song)", "Mara Delgado"}


@pytest.fixture(scope="module", params=list(SAMPLES))
def rebuilt(request: pytest.FixtureRequest,
            tmp_path_factory: pytest.TempPathFactory) -> tuple[str, KnowledgeGraph]:
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("new") / "sample.db")
    knowledge.add_files([assets() / "samples" / request.param], processes=1)
    return request.param, knowledge


def test_a_bundled_workspace_is_what_its_documents_make(
        rebuilt: tuple[str, KnowledgeGraph], tmp_path: Path) -> None:
    name, knowledge = rebuilt
    with knowledge.store() as new, KnowledgeGraph.sample(name, tmp_path).store() as bundled:
        assert new.graph.digest() == bundled.graph.digest(), "run 'make samples' and commit the result"


@pytest.mark.parametrize("name", list(SAMPLES))
def test_example_questions_need_no_model(name: str, tmp_path: Path) -> None:
    with KnowledgeGraph.sample(name, tmp_path).store() as store:
        for question in EXAMPLES[name]:
            plan = store.runs.plan(question)
            assert plan is not None
            assert plan.question == question


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_bundled_workspace_has_the_newest_schema(name: str) -> None:
    with closing(sqlite3.connect(assets() / "samples" / f"{name}.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
