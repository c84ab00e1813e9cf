"""The commands export, compare and sweep, and the work of query."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from qafd.answer import Answer
from qafd.cli import DONE, NOTHING_FOUND
from qafd.cli.answering import CHAINS, answer_lines, chain_lines
from qafd.cli.command import Outcome, command, note, open_graph, wants_json, with_workspace
from qafd.cli.inquiry import Inquiry, QuestionCommand, asks
from qafd.cli.options import db_option, out_option, question_argument
from qafd.cli.streams import check_output, open_output, text_of, write_out
from qafd.errors import ParameterError
from qafd.export import html, table_csv
from qafd.export.comparison import rows_csv
from qafd.export.formats import FORMATS, OF_GRAPH, OF_RETRIEVAL, write_graph
from qafd.export.whole import whole
from qafd.knowledge import KnowledgeGraph, read_corpus, read_layer_states
from qafd.lab.sweep import masses_for, vary
from qafd.reading.text.plaintext import one_line
from qafd.retrieve import METHODS
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.compare import BUDGET, DEFAULT, Comparison
from qafd.retrieve.methods import canonical, given_params, is_method, method_of
from qafd.retrieve.qafd import FlowDiffusion
from qafd.retrieve.rank import word_parts
from qafd.runs import save_run
from qafd.runs.imported import read_columns
from qafd.runs.replay import record_run
from qafd.runs.verify import seal
from qafd.storage import Location
from qafd.wording.answers import say_certainty
from qafd.wording.comparison import word_missed
from qafd.wording.reasons import word_notice


def answer_query(inquiry: Inquiry, keep: str | None) -> Outcome:
    """Retrieve for a question, and save the run if `keep` is a note."""
    knowledge = inquiry.knowledge
    with knowledge.store():  # which all that is asked of it here uses
        plan, method = inquiry.read()
        retrieval = knowledge.retrieve(plan, method)
        answer = knowledge.answer(retrieval, plan)
        lines = [*_retrieval_lines(retrieval, answer)]
        if retrieval.method == "qafd" and retrieval.nodes:
            lines += ["", *chain_lines(knowledge.explain(retrieval, plan=plan).chains(CHAINS))]
    if keep is not None:
        with knowledge.store() as store:
            run = save_run(store, record_run(knowledge, retrieval, plan, note=keep))
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


@command(as_json=False, kind=QuestionCommand)
@asks(method=True, needed=False)
@click.option("--graph", is_flag=True, help="Write the whole graph instead of a retrieval.")
@click.option("--format", "form", required=True, type=click.Choice(list(FORMATS)),
              help=f"Of the whole graph: {', '.join(OF_GRAPH)}; csv is a zip file of two tables, and "
              "of the whole graph only.")
@out_option
def export(inquiry: Inquiry, graph: bool, form: str, out: Path | None) -> int:
    knowledge = inquiry.knowledge
    if out is not None:
        check_output(out, Path(knowledge.place.written))
    if graph == bool(inquiry.question):
        raise ParameterError("give either a question or --graph: what it retrieves is written, or "
                             "the whole graph")
    if graph:
        return _export_graph(knowledge, form, out)
    if form not in OF_RETRIEVAL:
        raise ParameterError(f"{form} is a format of the whole graph; for a question choose "
                             f"{', '.join(OF_RETRIEVAL)}, or add --graph")
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


@command()
@db_option
@question_argument
@click.option("--methods", default=",".join(DEFAULT),
              help="Two to six methods, separated by commas; names of papers such as lightrag "
              "work too. NAME=FILE.jsonl, NAME=http://... or the NAME of imported runs adds "
              "a retriever of yours.")
@click.option("--budget", type=int, default=BUDGET, help="Tokens of passages for each method.")
@click.option("--format", "form", type=click.Choice(["csv"]),
              help="Write a table of all results instead of the overview.")
@out_option
def compare(db: Location | None, question: str, methods: str, budget: int, form: str | None,
            out: Path | None) -> Outcome | int:
    if out is not None:
        if not form:
            raise ParameterError("--out needs --format csv")
        check_output(out, db)
    if wants_json() and form:
        raise ParameterError("--json and --format exclude each other; choose one")
    knowledge = open_graph(db)
    comparison = knowledge.compare(text_of(question), _read_compared(knowledge, methods), budget=budget)
    failed = [column for column in comparison.columns if column.error]
    for column in failed:
        told = str(column.error) if column.error else ""
        note(f"{one_line(column.label, 100)}: {told}")
    unbuilt = {layer.name for layer in read_layer_states(knowledge) if layer.state != "built"}
    if any(unbuilt.intersection(METHODS[c.name].needs) for c in failed if c.name in METHODS):
        note("'qafd layers --build all' builds what is missing for all methods")
    found = any(retrieval.nodes for retrieval in comparison.retrievals.values())
    printed = comparison.to_dict()
    for difference, group in zip(printed["differences"], comparison.differences(), strict=True):
        difference["sentence"] = word_missed(group)
    overview = Outcome(printed, _comparison_lines(comparison), found, bool(failed))
    if not form:
        return overview
    write_out(rows_csv(comparison), out)
    return overview.code


def _read_compared(knowledge: KnowledgeGraph, methods: str) -> dict[str, Any]:
    """Return the methods to compare; one of ours without parameters begins with the question's own mass."""
    return {name: ... if is_method(name) else method
            for name, method in read_columns(knowledge, methods).items()}


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    yield f"{'method':20} {'nodes':>6} {'only here':>9} {'passages':>8} {'tokens':>7} {'ms':>8}"
    only = comparison.only()
    worked = tuple(column for column in comparison.columns if not column.error)
    for column in worked:
        if column.retrieval is not None:
            yield (f"{column.name:20} {len(column.found):6} {len(only[column.name]):9} "
                   f"{len(column.retrieval.passages):8} {column.tokens:7} "
                   f"{column.retrieval.work.total_milliseconds:8.1f}")
    yield "\nnodes in common (Jaccard)"
    for column, row in zip(worked, replace(comparison, columns=worked).overlap(), strict=True):
        yield " ".join([f"{column.name:20}", *(f"{value:5.2f}" for value in row)])
    for difference in comparison.differences():
        yield "\n" + one_line(word_missed(difference), 600)


@command("sweep")
@with_workspace
@question_argument
@click.option("--over", "varied", multiple=True, metavar="METHOD.NAME=V,V,...",
              help="Values of a parameter of a method, such as qafd.seeds=5,10 or path.decay=0.5,0.8; repeat "
              "for more. Without it eight masses of qafd are tried.")
@click.option("--gold", "titles", multiple=True, metavar="TITLE",
              help="A passage that answers the question, by title; repeat for more. Adds recall.")
@click.option("--csv", is_flag=True, help="Print CSV.")
def sweep_settings(knowledge: KnowledgeGraph, question: str, titles: tuple[str, ...], csv: bool,
                   varied: tuple[str, ...]) -> Outcome | int:
    if csv and wants_json():
        raise ParameterError("--csv and --json exclude each other; choose one")
    names = {canonical(text.partition(".")[0]) for text in varied} or {"qafd"}
    if len(names) > 1:
        raise ParameterError(f"a sweep is of one method, not of {', '.join(names)}")
    method: Any = method_of(names.pop())
    values = _values_of(method, varied)
    knowledge.build_layers(method.needs)
    corpus = read_corpus(knowledge)
    plan = knowledge.plan(text_of(question), corpus.graph)
    method = method.fit_to(corpus.graph)
    if isinstance(method, FlowDiffusion):
        values = values or {"mass": masses_for(method.problem(corpus, plan))}
    found = vary(corpus, plan, method, values, _gold_titled(corpus, titles))
    head = [*values, "nodes", "tokens", "ms", "recall"]
    rows = []
    for one in found:
        tried = [one.params[name] for name in values]
        rows.append((*tried, one.size, one.tokens, round(one.milliseconds, 2), one.recall))
    outcome = Outcome(found, _sweep_lines((head, *rows)), any(one.size for one in found))
    if not csv:
        return outcome
    sys.stdout.write(table_csv(head, rows))
    return outcome.code


def _sweep_lines(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    for row in rows:
        cells = [f"{cell:.4g}" if isinstance(cell, float) else "" if cell is None else cell for cell in row]
        yield "  ".join(f"{cell:>10}" for cell in cells)


def _values_of(method: Any, varied: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the values to try of each parameter, from texts such as "path.decay=0.5,0.8"."""
    values: dict[str, Sequence[Any]] = {}
    for text in varied:
        parameter, _, listed = text.partition(".")[2].partition("=")
        given = [given_params(method, f"{parameter}={value}") for value in listed.split(",")]
        values[parameter] = [one[parameter] for one in given]
    return values


def _gold_titled(corpus: Corpus, titles: Sequence[str]) -> list[str]:
    gold: list[str] = []
    for title in titles:
        gold += _passages_titled(corpus, title)
    return gold


def _passages_titled(corpus: Corpus, title: str) -> list[str]:
    passages = zip(corpus.passages.rows.tolist(), corpus.passages.titles, strict=True)
    named = [corpus.graph.ids[row] for row, own in passages if own.casefold() == title.casefold()]
    if not named:
        raise ParameterError(f"no passage has the title {title[:80]!r}; 'qafd query' prints "
                             "titles")
    return named
