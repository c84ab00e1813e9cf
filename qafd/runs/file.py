"""A run as one JSON file: the retrieval as `qafd query --json` prints it, with a key "run".

A file may come from a stranger: its size is bounded and every value is checked on reading.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from qafd.errors import ParseError
from qafd.retrieve.base import Retrieval
from qafd.runs import Run, seal_retrieval
from qafd.runs.stored import check_wording, json_of, plain_of, record_of
from qafd.runs.verify import find_shape_flaws, seal, verify
from qafd.wording.runs import say_finding

EXTRA = "run"
NODES_DRAWN, EDGES_DRAWN = 20_000, 100_000  # of a run that the app draws
WAYS_DRAWN = 4_000_000  # of it; a way leads through a passage to a neighbor
PARTS = 200  # diffusions of a question, one for each seed


def run_json(run: Run) -> dict[str, Any]:
    """Return a run as JSON values, with a digest of all of them if there is a certificate."""
    extra = plain_of(replace(run, id=""))
    del extra["retrieval"], extra["id"]
    return seal({**run.retrieval.to_dict(), EXTRA: extra})


def write_run(run: Run) -> str:
    """Write a run as a JSON text that `qafd verify`, `qafd replay` and the page Runs read."""
    return json.dumps(run_json(run), ensure_ascii=False, indent=1, default=str)


def read_run(data: bytes) -> Run:
    """Read a run, also one that `qafd query --json` printed.

    Raises
    ------
    ParseError
        It is not a run, is too large to draw, or its certificate does not follow from its numbers.
    """
    obj = json_of(data, "The file")
    if not isinstance(obj, dict) or not {"query", "method", "nodes"} <= obj.keys():
        raise ParseError("The file is not a run; 'qafd query --json' and the page Runs write one.")
    extra = obj.get(EXTRA, {})
    retrieval = {name: value for name, value in obj.items() if name != EXTRA}
    run: Run = record_of(Run, {"layout": {}, **(extra if isinstance(extra, dict) else {}),
                               "retrieval": retrieval}, "the run")
    check_wording(run.retrieval)
    parts = run.retrieval.parts
    if len(parts) > PARTS or any(part.parts for part in parts):
        raise ParseError(f"The run has {len(parts)} parts or parts of parts; a question has at most "
                         f"{PARTS} diffusions.")
    for each in (run.retrieval, *parts):
        for flaw in find_shape_flaws(each):
            raise ParseError(f"The run {flaw}; it was damaged or made by another program.")
    if run.retrieval.certificate is not None:
        checked = verify(obj)
        if not checked.ok:
            raise ParseError(f"The run failed its check: {say_finding(checked.findings[0])}")
    _check_size(run.retrieval)
    return replace(run, retrieval=seal_retrieval(run.retrieval), id="")


def _check_size(retrieval: Retrieval) -> None:
    """Raise ParseError if a retrieval is too large to draw."""
    nodes, edges = len(retrieval.nodes), len(retrieval.edges)
    passages = {node.id for node in retrieval.nodes if node.kind == "passage"}
    ends: Counter[str] = Counter()
    for edge in retrieval.edges:
        ends.update(passages.intersection((edge.source, edge.target)))
    ways = sum(count**2 for count in ends.values())
    if nodes > NODES_DRAWN or edges > EDGES_DRAWN or ways > WAYS_DRAWN:
        raise ParseError(f"The run has {nodes:,} nodes, {edges:,} edges and {ways:,} ways through "
                         f"passages, and at most {NODES_DRAWN:,}, {EDGES_DRAWN:,} and {WAYS_DRAWN:,} "
                         "are drawn; 'qafd verify' checks it all the same.")
