"""The bundled samples: what Figure 1 claims, and that they are what their documents make."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from qafd.knowledge import KnowledgeGraph, find_evidence
from qafd.resources import assets
from qafd.retrieve.qafd import FlowDiffusion
from qafd.samples import EXAMPLES, SAMPLES, copy_sample
from qafd.storage import open_workspace
from qafd.storage.sqlite import OLD_TABLES

QUESTION = "Introduce Steve Jobs's products in Apple."
ON_TOPIC = {"apple-inc.md", "macintosh.md", "steve-jobs.md", "tim-cook.md"}
ANSWERS = {  # what the documents say, in the order of EXAMPLES
    "apple-amazon": ("iPad", "McIntosh", "Rio Negro", "iPhone"),
    "songbook": ("Valparaíso", "Étienne Castagne", "Tejo Studio"),
    "elements": ("Brightwater", "Jöns Jacob Berzelius", "Ytterby"),
}


def retrieved(retrieval):
    return {n.id for n in retrieval.nodes if n.state == "saturated" and n.kind == "entity"}


def on_topic(knowledge, entities):
    """The entities that some document about the company mentions."""
    return {e.node for e in find_evidence(knowledge, entities) if e.document in ON_TOPIC}


def test_query_aware_and_plain_retrieval_differ_as_the_paper_claims(apple):
    plan = apple.plan(QUESTION)
    kept, brought, differing = [], [], []
    for mass in (30.0, 42.0):
        aware = retrieved(apple.retrieve(plan, FlowDiffusion(mass=mass)))
        plain = retrieved(apple.retrieve(plan, FlowDiffusion(mass=mass, variant="plain")))
        share = len(on_topic(apple, aware)) / len(aware)
        kept.append(share - len(on_topic(apple, plain)) / len(plain))
        brought.append(len(on_topic(apple, aware)) - len(on_topic(apple, plain)))
        differing.append(len(aware ^ plain))
    assert min(differing) >= 3, "a viewer could not tell the two pictures apart"
    assert brought[0] >= 2, "at a small mass the question brings more of the company's nodes"
    assert kept[1] >= 0.05, "where all of the company fills it keeps more of the fruit and the river out"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_example_question_has_its_answer_quoted(name, tmp_path):
    knowledge = KnowledgeGraph.sample(name, tmp_path)
    for question, wanted in zip(EXAMPLES[name], ANSWERS[name], strict=True):
        plan = knowledge.plan(question)
        answer = knowledge.answer(knowledge.retrieve(plan), plan)
        assert any(wanted in sentence.text for sentence in answer.sentences), question


@pytest.fixture(scope="module", params=list(SAMPLES))
def rebuilt(request, tmp_path_factory):
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("new") / "sample.db")
    knowledge.add_files([assets() / "samples" / request.param], processes=1)
    return request.param, knowledge


def test_a_bundled_workspace_is_what_its_documents_make(rebuilt, tmp_path):
    name, knowledge = rebuilt
    new, bundled = knowledge.graph, KnowledgeGraph.sample(name, tmp_path).graph
    assert (new.ids, new.names) == (bundled.ids, bundled.names), "run 'make samples'"
    assert joined(new) == joined(bundled), "run 'make samples' and commit the result"
    # Processors round the states differently now and then, before they are scaled to 8 bits.
    apart = np.linalg.norm(new.vectors[:] - bundled.vectors[:], axis=1)
    assert apart.max() < 0.2, "run 'make samples' and commit the result"


def joined(graph):
    """The pairs of rows that edges join."""
    heads = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    return set(zip(heads.tolist(), graph.neighbors.tolist(), strict=True))


def test_a_copy_of_an_older_version_is_set_aside_and_made_again(tmp_path):
    path = tmp_path / "songbook.db"
    with closing(sqlite3.connect(path)) as connection:  # the tables of older versions, without their mark
        connection.executescript("".join(f"CREATE TABLE {name} (x);" for name in sorted(OLD_TABLES)))
    assert copy_sample("songbook", tmp_path) == path
    with open_workspace(path) as store:
        assert store.files.all()
    assert (tmp_path / "songbook.old.db").exists()
