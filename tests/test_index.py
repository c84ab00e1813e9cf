import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tiny import TinyEmbedder, TinyExtractor, tiny_index

from qafd.errors import BusyError, ModelError, ParameterError
from qafd.ingest import BATCH, index
from qafd.ingest.engine import Progress
from qafd.storage import open_workspace

MANY = b"".join(json.dumps({"id": i, "title": f"Title{i}", "text": f"Name{i} met Name{i + 1}."})
                .encode() + b"\n" for i in range(5 * BATCH))


def run(path, files=(), **named):
    return index(path, files, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1, **named)


def test_a_script_needs_no_guard_to_read_in_several_processes(tmp_path):
    (tmp_path / "a.txt").write_text("Ada Lovelace met Charles Babbage in London.")
    script = tmp_path / "script.py"
    script.write_text("import sys, qafd\n"
                      "kg = qafd.KnowledgeGraph.open(sys.argv[1] + '/x.db')\n"
                      "print('read', kg.add_files([sys.argv[1] + '/a.txt'], processes=2))\n")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], text=True,
                          capture_output=True, timeout=120)
    assert done.stdout == "read ('a.txt',)\n", done.stderr


def test_the_graph_can_be_used_after_the_first_passages(path):
    sizes = []

    def look(progress):
        with open_workspace(path) as store:
            if progress.stage == "extracting":
                sizes.append((progress.done, store.log.count_assembled()))

    run(path, [("many.jsonl", MANY)], progress=look)
    assert [done for done, _ in sizes] == [BATCH * i for i in range(1, 6)]
    # after the first batch, and when there was four times as much only the last was to come
    assert [shown for _, shown in sizes] == [0, BATCH, BATCH, BATCH, BATCH]
    with open_workspace(path) as store:
        assert store.log.count() == store.log.count_assembled() == 5 * BATCH


def test_a_run_that_is_stopped_while_names_are_compared_goes_on_later(path, tmp_path):
    given = [("a.txt", " ".join(f"Name{i} met Other{i}." for i in range(300)).encode())]
    seen = []
    run(path, given, progress=seen.append,
        stopped=lambda: any(one.stage == "comparing names" for one in seen))
    assert [(one.done, one.total) for one in seen if one.stage == "comparing names"] == [(256, 600)]
    with open_workspace(path) as store:
        assert store.graph.stale
    run(path)
    with open_workspace(path) as store:
        assert not store.graph.stale
        assert store.graph.digest() == tiny_index(tmp_path / "whole.db", given)


def test_two_processes_give_the_graph_of_one(path, tmp_path):
    assert tiny_index(path, [("many.jsonl", MANY)], processes=2) == tiny_index(
        tmp_path / "other.db", [("many.jsonl", MANY)])


class Fatal(TinyExtractor):
    """Ends its process as the kernel does when memory runs out."""

    def extract_all(self, chunks):
        import os

        if "Name40" in " ".join(chunk.text for chunk in chunks):
            os._exit(137)
        return super().extract_all(chunks)


def test_a_child_that_dies_ends_the_run_with_a_sentence_and_loses_nothing(path, tmp_path):
    with pytest.raises(ModelError, match="has died"):
        index(path, [("many.jsonl", MANY)], extractor=Fatal, embedder=TinyEmbedder, processes=2)
    with open_workspace(path) as store:
        assert store.lease.writer is None
    assert run(path) == ("many.jsonl",)
    with open_workspace(path) as store:
        assert store.graph.digest() == tiny_index(tmp_path / "other.db", [("many.jsonl", MANY)])


def test_a_model_that_gives_infinity_is_refused(path):
    class Infinite(TinyEmbedder):
        def embed(self, texts):
            return super().embed(texts) / np.float32(1e-45)

    with pytest.raises(ParameterError, match="hold NaN or infinity"), \
            np.errstate(over="ignore", divide="ignore"):
        index(path, [("a.txt", b"Ada met Bob.")], extractor=TinyExtractor, embedder=Infinite,
              processes=1)
    with open_workspace(path) as store:
        assert len(store.graph.read()) == 0


def test_what_is_added_while_another_indexes_is_indexed_by_that_one(path):
    def meanwhile(progress):
        if progress == Progress("extracting", 1, 1, "a.txt"):
            with pytest.raises(BusyError, match="is indexing this workspace"):
                run(path, [("b.txt", b"Bob met Cyd.")])

    assert run(path, [("a.txt", b"Ada met Bob.")], progress=meanwhile) == ("a.txt", "b.txt")
    with open_workspace(path) as store:
        assert [file.status for file in store.files.all()] == ["done", "done"]
        assert store.lease.writer is None


def test_who_can_wait_returns_when_another_has_indexed_the_file(path):
    found, waited = [], []

    def wait():
        found.append(index(path, [("b.txt", b"Bob met Cyd."), ("c.txt", b"")],
                           extractor=TinyExtractor, embedder=TinyEmbedder, processes=1,
                           progress=waited.append, patient=True))

    other = threading.Thread(target=wait)

    def meanwhile(progress):
        if progress == Progress("extracting", 1, 1, "a.txt"):
            other.start()
            while not waited:
                time.sleep(0.01)

    assert set(run(path, [("a.txt", b"Ada met Bob.")], progress=meanwhile)) >= {"a.txt", "b.txt"}
    other.join(60)
    assert found == [("b.txt", "c.txt")]
    assert waited[0].current == "another process reads"
    with open_workspace(path) as store:
        assert [file.status for file in store.files.all()] == ["done", "done", "failed"]
        assert store.lease.writer is None
