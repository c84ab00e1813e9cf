"""Two embedding models in one workspace: the earlier's vectors, its graph, and the comparison."""

from pathlib import Path

import numpy as np
import pytest
from tiny import TinyEmbedder, TinyExtractor

from qafd.doctor import doctor
from qafd.errors import MissingLayerError, StoreError
from qafd.ingest import index
from qafd.knowledge import KnowledgeGraph
from qafd.plan import Planner
from qafd.retrieve.layers import bring_up_to_date
from qafd.storage import open_workspace

FILES = [(f"{i}.txt", f"Ada{i} met Bob{i % 3} in Rome{i}. Bob{i % 3} met Cyd.".encode())
         for i in range(6)]


def other() -> TinyEmbedder:
    return TinyEmbedder("other", 16)


def run(path: Path, embedder: type | object, files: list[tuple[str, bytes]] | None = None) -> None:
    index(path, files or [], extractor=TinyExtractor, embedder=embedder, processes=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Embedded with the tiny model, and then with another."""
    run(tmp_path / "two.db", TinyEmbedder, FILES)
    with open_workspace(tmp_path / "two.db") as store:
        store.vectors.forget()
    run(tmp_path / "two.db", other)
    return tmp_path / "two.db"


def models(path: Path) -> dict[int, int]:
    """How many vectors are kept of each model, by its number."""
    with open_workspace(path) as store, store.snapshot() as connection:
        return dict(connection.execute("SELECT model, count(*) FROM embeddings GROUP BY model"))


def test_the_earlier_graph_is_the_one_that_its_model_made(path: Path, tmp_path: Path) -> None:
    run(tmp_path / "one.db", TinyEmbedder, FILES)
    with open_workspace(tmp_path / "one.db") as store:
        alone = store.graph.read()
    with open_workspace(path) as store:
        assert store.vectors.embedder == ("other", 16)
        assert store.vectors.earlier == ("tiny", 8)
        assert store.graph.read().vectors.shape[1] == 16
    before = KnowledgeGraph(path, other()).earlier()
    assert (before.ids, list(before.kinds)) == (alone.ids, list(alone.kinds))
    for name in ("indptr", "neighbors", "similarity", "edge_kinds", "tokens"):
        assert np.array_equal(getattr(before, name), getattr(alone, name)), name
    for name in ("vectors", "name_vectors"):
        assert np.array_equal(getattr(before, name)[:], getattr(alone, name)[:]), name


def test_only_the_model_before_is_kept_and_the_same_model_is_computed_anew(path: Path) -> None:
    assert models(path)[0] == models(path)[1]
    with open_workspace(path) as store:
        store.vectors.forget()
    run(path, lambda: TinyEmbedder("third", 4))
    assert set(models(path)) == {1, 2}
    with open_workspace(path) as store:
        store.vectors.forget()
    run(path, lambda: TinyEmbedder("third", 5))
    assert set(models(path)) == {3}
    with open_workspace(path) as store:
        assert store.vectors.earlier == ("", 0)
        with pytest.raises(StoreError, match="vectors of one embedding model only"):
            KnowledgeGraph(path, other()).earlier()


def test_a_purged_document_leaves_no_vector_of_either_model(path: Path, tmp_path: Path) -> None:
    with open_workspace(path) as store:
        store.documents.purge("5.txt")
    run(path, other)
    run(tmp_path / "five.db", TinyEmbedder, FILES[:5])
    assert models(path)[0] == models(tmp_path / "five.db")[0]
    assert "5.txt" not in KnowledgeGraph(path, other()).earlier().names


def test_layers_of_the_present_graph_are_not_taken_for_those_of_the_earlier(path: Path) -> None:
    knowledge = KnowledgeGraph(path, other())
    with open_workspace(path) as store:
        bring_up_to_date(store, other(), ["tree"])
    plan = Planner(knowledge.earlier(), TinyEmbedder()).plan("Whom did Ada1 meet?")
    with pytest.raises(MissingLayerError, match="tree"):
        knowledge.retrieve(plan, "tree", graph=knowledge.earlier())


@pytest.mark.parametrize("sql", ["UPDATE embeddings SET vectors = zeroblob(8) WHERE model = 0",
                                 "UPDATE embeddings SET model = -1 WHERE model = 0"])
def test_the_doctor_checks_the_earlier_vectors_too(path: Path, sql: str) -> None:
    def vectors() -> bool:
        return next(check.ok for check in doctor(path) if check.name == "vectors")

    assert vectors()
    with open_workspace(path) as store, store.transaction() as connection:
        connection.execute(sql)
    assert not vectors()
