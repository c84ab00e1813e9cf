"""Two embedding models in one workspace: the vectors of both."""

from pathlib import Path

import pytest
from tiny import TinyEmbedder, TinyExtractor

from qafd.doctor import doctor
from qafd.ingest import index
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


def test_a_purged_document_leaves_no_vector_of_either_model(path: Path, tmp_path: Path) -> None:
    with open_workspace(path) as store:
        store.documents.purge("5.txt")
    run(path, other)
    run(tmp_path / "five.db", TinyEmbedder, FILES[:5])
    assert models(path)[0] == models(tmp_path / "five.db")[0]


@pytest.mark.parametrize("sql", ["UPDATE embeddings SET vectors = zeroblob(8) WHERE model = 0",
                                 "UPDATE embeddings SET model = -1 WHERE model = 0"])
def test_the_doctor_checks_the_earlier_vectors_too(path: Path, sql: str) -> None:
    def vectors() -> bool:
        return next(check.ok for check in doctor(path) if check.name == "vectors")

    assert vectors()
    with open_workspace(path) as store, store.transaction() as connection:
        connection.execute(sql)
    assert not vectors()
