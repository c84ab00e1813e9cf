"""A workspace whose rows are not what qafd writes: one sentence on every page and in every read."""

import sqlite3
from contextlib import closing

import pytest
from clicks import page, shown

from qafd.errors import StoreError
from qafd.samples import copy_sample
from qafd.storage import open_workspace

DAMAGE = {
    "no nodes": "DROP TABLE nodes",
    "no passages": "DROP TABLE passages",
    "revision": "UPDATE meta SET value = 'many' WHERE key = 'graph_revision'",
    "log revision": "UPDATE meta SET value = '' WHERE key = 'log_revision'",
    "dimension": "UPDATE meta SET value = x'00ff' WHERE key = 'dimension'",
    "name": "UPDATE nodes SET name = x'00ff' WHERE kind = 'entity'",
    "vector": "UPDATE embeddings SET vectors = x'00000000'",
    "edge": "UPDATE edges SET target = target || 'x'",
    "evidence": "UPDATE edges SET evidence = '[[1, '",
    "evidence of another shape": "UPDATE edges SET evidence = x'0001'",
    "marks": "UPDATE documents SET marks = '{'",
    "title": "UPDATE documents SET title = x'00ff'",
    "notices": "UPDATE files SET notices = 'none'",
}
PAGES = ("explore", "graph", "documents", "settings", "compare", "runs", "evaluate", "lab", "learn")


def damaged(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_every_read_of_damaged_rows_is_one_sentence(statement, tmp_path):
    path = damaged(copy_sample("apple-amazon", tmp_path), statement)
    sentences = []
    with open_workspace(path) as store:
        ids = [f"{row[0]:015x}" for row in store._file.connection.execute(
            "SELECT DISTINCT source FROM edges")]
        for read in (store.graph.read, lambda: store.graph.nodes(ids), lambda: store.graph.edges(ids),
                     lambda: store.passages.evidence(ids),
                     store.files.all, store.files.contents, store.documents.all,
                     lambda: [store.documents.get(row[0]) for row in store._file.connection.execute(
                         "SELECT name FROM documents").fetchall()],
                     lambda: store.graph.stale, lambda: store.vectors.embedder, store.log.read):
            try:
                read()
            except StoreError as error:
                sentences.append(str(error))
    assert sentences
    assert all("is damaged" in text and "run `qafd doctor` on it and restore a backup" in text
               for text in sentences)


@pytest.mark.parametrize("damage", ["no nodes", "name", "notices"])
def test_every_page_on_a_damaged_workspace_is_drawn_or_one_sentence(damage, home):
    copy_sample("apple-amazon", home).rename(home / "mine.db")
    damaged(home / "mine.db", DAMAGE[damage])
    said = [error.value for name in PAGES for error in page(name, ws="mine", q="Apple?").error]
    assert any("is damaged" in sentence.replace("\\", "") for sentence in said)


@pytest.mark.parametrize("statement", ["DROP TABLE files", DAMAGE["revision"], DAMAGE["notices"]])
def test_settings_removes_a_damaged_workspace(statement, home):
    copy_sample("apple-amazon", home).rename(home / "mine.db")
    damaged(home / "mine.db", statement)
    app = page("settings", ws="mine")
    assert "is damaged" in shown(app)
    app.text_input(key="wipe_name").set_value("mine").run()
    next(b for b in app.button if b.label == "Remove this workspace").click().run()
    assert not app.exception
    assert not (home / "mine.db").exists()
