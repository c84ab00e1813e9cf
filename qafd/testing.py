"""Checks for methods, readers and exporters of other packages; each raises AssertionError with a sentence.

    from qafd.testing import check_method

    def test_the_method_keeps_the_contract():
        check_method("nearest")
"""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qafd.errors import ParseError
from qafd.export.formats import OF_RETRIEVAL
from qafd.knowledge import KnowledgeGraph
from qafd.reading.parsing import parse
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval
from qafd.samples import EXAMPLES
from qafd.wording.reasons import word_reason

SAMPLE = "apple-amazon"


def check_method(name: str) -> None:
    """Check a retrieval method of `qafd.retrieve.METHODS` on the questions of a sample, and on no graph."""
    method = METHODS[name]
    assert is_dataclass(method), f"{name} is not a dataclass of its parameters"
    assert method.__dataclass_params__.frozen, f"{name} is not a frozen dataclass"
    for text in ("label", "idea", "source"):
        assert getattr(method, text, ""), f"{name} has no {text}"
    for spec in fields(method):
        assert spec.metadata, f"the parameter {spec.name} of {name} has no range; declare it with knob()"
    with TemporaryDirectory() as folder:
        knowledge = KnowledgeGraph.sample(SAMPLE, folder)
        for question in EXAMPLES[SAMPLE]:
            retrieval = knowledge.retrieve(question, name)
            _check_retrieval(retrieval, name, knowledge)
            again = knowledge.retrieve(question, name)
            assert _plain(again) == _plain(retrieval), f"{name} retrieves something else the second time"
        empty = KnowledgeGraph.open(Path(folder, "empty.db"))
        assert not empty.retrieve("Who?", name).nodes, f"{name} retrieves from an empty graph"


def _plain(retrieval: Retrieval) -> dict[str, Any]:
    plain = retrieval.to_dict()
    del plain["work"]  # times
    return plain


def _check_retrieval(retrieval: Retrieval, name: str, knowledge: KnowledgeGraph) -> None:
    assert retrieval.method == name, f"{name} calls itself {retrieval.method}"
    importance = [node.importance for node in retrieval.nodes]
    ids = {node.id for node in retrieval.nodes}
    assert importance == sorted(importance, reverse=True), f"{name} does not rank nodes by importance"
    assert min(importance, default=0.0) >= 0, f"{name} gives a negative importance"
    assert ids <= knowledge.graph.row.keys(), f"{name} retrieves nodes that the graph does not have"
    for edge in retrieval.edges:
        assert {edge.source, edge.target} <= ids, f"{name} retrieves an edge without its ends"
        assert edge.flow >= 0, f"{name} gives a negative flow"
    scores = [passage.score for passage in retrieval.passages]
    assert scores, f"{name} ranks no passage"
    assert scores == sorted(scores, reverse=True), f"{name} does not rank passages by score"
    assert all(word_reason(node.reason) for node in retrieval.nodes), f"{name} gives a node no reason"
    json.dumps(retrieval.to_dict(), allow_nan=False)


def check_reader(ending: str, data: bytes, words: str) -> None:
    """Check a reader: `data` is a file of that ending whose text has these words."""
    first, again = (parse(f"file.{ending}", data) for _ in range(2))
    assert any(words in document.text for document in first), f"the reader of {ending} loses {words!r}"
    assert [document.text for document in first] == [document.text for document in again], (
        f"the reader of {ending} reads something else the second time")
    try:
        parse(f"file.{ending}", b"")
    except ParseError:
        return
    raise AssertionError(f"an empty file of {ending} is taken for a document")


def check_exporter(name: str) -> None:
    """Check an exporter of retrievals on a question of a sample."""
    with TemporaryDirectory() as folder:
        retrieval = KnowledgeGraph.sample(SAMPLE, folder).retrieve(EXAMPLES[SAMPLE][0])
    written = OF_RETRIEVAL[name].write(retrieval)
    assert written, f"{name} writes nothing"
    assert OF_RETRIEVAL[name].write(retrieval) == written, f"{name} writes something else the second time"
    text = written if isinstance(written, str) else written.decode("utf-8", "replace")
    assert any(node.name in text for node in retrieval.retrieved), f"{name} names no retrieved node"
