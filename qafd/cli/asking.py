"""The commands export and compare, and the work of query."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from qafd.answer import Answer
from qafd.cli import DONE, NOTHING_FOUND
from qafd.cli.answering import CHAINS, answer_lines, chain_lines
from qafd.cli.command import Outcome, align, note, open_graph
from qafd.cli.inquiry import Inquiry
from qafd.cli.models import ModelRequest
from qafd.cli.streams import check_output, open_output, text_of, write_out
from qafd.errors import ParameterError
from qafd.export import html
from qafd.export.formats import FORMATS, OF_GRAPH, OF_RETRIEVAL, write_graph
from qafd.export.whole import whole
from qafd.knowledge import KnowledgeGraph, read_layer_states
from qafd.reading.text.plaintext import one_line
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval
from qafd.retrieve.compare import Comparison
from qafd.retrieve.methods import is_method
from qafd.retrieve.rank import word_parts
from qafd.runs import save_run
from qafd.runs.difference import record_run
from qafd.runs.imported import read_columns
from qafd.runs.verify import seal
from qafd.storage import Location
from qafd.wording.answers import say_certainty
from qafd.wording.comparison import word_missed
from qafd.wording.reasons import word_notice


def query(inquiry: Inquiry, keep: str | None, asked: ModelRequest) -> Outcome:
    """Retrieve for a question, and save the run if `keep` is a note."""
    knowledge = inquiry.knowledge
    asked.read_for(knowledge)
    with knowledge.store():  # which all that is asked of it here uses
        read, method = inquiry.read()
        retrieval = knowledge.retrieve(read, method)
        answer = knowledge.answer(retrieval, read)
        lines = [*_retrieval_lines(retrieval, answer)]
        if retrieval.method == "qafd" and retrieval.nodes:
            lines += ["", *chain_lines(knowledge.explain(retrieval, plan=read).chains(CHAINS))]
    if keep is not None:
        with knowledge.store() as store:
            run = save_run(store, record_run(knowledge, retrieval, read, note=keep))
        note(f"saved as {run}; 'qafd runs' lists saved runs")
    return Outcome(seal(retrieval.to_dict()), lines,
                   found=bool(retrieval.passages) and not (answer.abstained and answer.unknown),
                   notes=[word_notice(one) for one in retrieval.notices])


def _retrieval_lines(retrieval: Retrieval, answer: Answer) -> Iterator[str]:
    yield from answer_lines(answer)
    if certainty := say_certainty(retrieval):
        yield f"\n{certainty}"
    yield "\npassages:" if retrieval.passages else "\nNo passage was retrieved."
    for rank, passage in enumerate(retrieval.passages[:5], 1):
        score = f"score {passage.score:.2f}"
        if passage.parts:
            score += f" = {word_parts(passage.parts)}"
        yield (f"{rank}. {one_line(passage.title, 200)}  ({one_line(passage.document, 200)}, "
               f"{score})")
        yield f"   {one_line(passage.text, 400)}\n"
    full = [one_line(node.name, 100) for node in retrieval.nodes
            if node.state == "saturated" and node.kind != "passage"]
    yield f"nodes: {', '.join(full[:20])}" if full else "No name was retrieved."


def export(inquiry: Inquiry, graph: bool, form: str, out: Path | None) -> int:
    knowledge = inquiry.knowledge
    if out is not None:
        check_output(out, Path(knowledge.place.written))
    if graph == bool(inquiry.question):
        raise ParameterError("give a question, to write what it retrieves, or --graph, to write the whole "
                             "graph")
    offered, what = (OF_GRAPH, "the whole graph") if graph else (OF_RETRIEVAL, "a question")
    if form not in offered:
        raise ParameterError(f"{what} cannot be written as {form[:40]}; choose {', '.join(offered)}")
    if graph:
        return _export_graph(knowledge, form, out)
    plan, method = inquiry.read()
    retrieval = knowledge.retrieve(plan, method)
    if form == "html":
        write_out(html(retrieval, answer=knowledge.answer(retrieval, plan)), out)
    else:
        write_out(FORMATS[form].write(retrieval), out)
    return DONE if retrieval.nodes else NOTHING_FOUND


def _export_graph(knowledge: KnowledgeGraph, form: str, out: Path | None) -> int:
    with knowledge.store() as store, whole(store) as graph:
        if graph.stale:
            note("documents or edits are still waiting; this is the graph without them")
        with open_output(out) as file:
            write_graph(graph, form, file)
        return DONE if graph.node_count else NOTHING_FOUND


def compare(db: Location | None, question: str, methods: str, budget: int, asked: ModelRequest) -> Outcome:
    knowledge = open_graph(db)
    asked.read_for(knowledge)
    comparison = knowledge.compare(text_of(question), _read_compared(knowledge, methods), budget=budget)
    failed = [column for column in comparison.columns if column.error]
    for column in failed:
        note(f"{one_line(column.label, 100)}: {column.error}")
    unbuilt = {layer.name for layer in read_layer_states(knowledge) if layer.state != "built"}
    if any(unbuilt.intersection(METHODS[c.name].needs) for c in failed if c.name in METHODS):
        note("'qafd layers --build all' builds what is missing for all methods")
    found = any(retrieval.nodes for retrieval in comparison.retrievals.values())
    printed = comparison.to_dict()
    for difference, group in zip(printed["differences"], comparison.differences(), strict=True):
        difference["sentence"] = word_missed(group)
    return Outcome(printed, _comparison_lines(comparison), found, bool(failed))


def _read_compared(knowledge: KnowledgeGraph, methods: str) -> dict[str, Any]:
    """Return the methods to compare, ... for ours without parameters, which get the suggested mass."""
    return {name: ... if is_method(name) else method
            for name, method in read_columns(knowledge, methods).items()}


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("method", "nodes", "only here", "passages", "tokens", "ms")]
    only = comparison.only()
    worked = tuple(column for column in comparison.columns if not column.error)
    for column in worked:
        if column.retrieval is not None:
            numbers = len(column.found), len(only[column.name]), len(column.retrieval.passages), column.tokens
            rows.append((column.name, *map(str, numbers), f"{column.retrieval.work.total_milliseconds:.1f}"))
    shared = [(column.name, *(f"{value:.2f}" for value in row)) for column, row in zip(
        worked, replace(comparison, columns=worked).overlap(), strict=True)]
    yield from [*align(rows), "", "nodes in common (Jaccard)", *align(shared)]
    for difference in comparison.differences():
        yield "\n" + one_line(word_missed(difference), 600)
