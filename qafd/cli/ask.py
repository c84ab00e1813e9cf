"""Questions: what is retrieved, its export, and the check of its certificate."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    add_question,
    asked,
    check_output,
    command,
    open_graph,
    print_json,
    read_file,
    write_out,
)
from qafd.errors import ParameterError, QafdError
from qafd.reading.text.plaintext import decode, one_line
from qafd.retrieve.rank import stated

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph
    from qafd.records import QueryPlan
    from qafd.retrieve.base import Retrieval
    from qafd.runs import Run


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    query = add_question(commands, "query", _query,
                         "retrieve the subgraph and passages for a question")
    query.add_argument("--method", default="qafd", help="default: %(default)s")
    query.add_argument("--keep", nargs="?", const="", metavar="NOTE",
                       help="put the run into the history, with a note if one is given")

    export = add_question(commands, "export", _export,
                          "write a retrieval, or the whole graph, as a file", as_json=False,
                          needed=False)
    export.add_argument("--graph", action="store_true",
                        help="the whole graph instead of what a question retrieves")
    export.add_argument("--format", required=True,
                        choices=("json", "graphml", "gexf", "nodes.csv", "edges.csv",
                                 "passages.csv", "html", "report", "bundle", "csv"),
                        help="of the whole graph: json, graphml, gexf, html, or csv, which is a "
                        "zip file of two tables; the last is of the whole graph only")
    export.add_argument("--out", type=Path, help="the file to write (default: stdout)")
    export.add_argument("--method", default="qafd", help="default: %(default)s")

    verify = command(commands, "verify", _verify, "re-check the certificate of a stored query",
                     db=False)
    verify.add_argument("file", help="what 'qafd query --json' printed, or a bundle; '-' reads "
                        "stdin")


def retrieve(arguments: argparse.Namespace) -> "Retrieval":
    """What the method that the options name retrieves for the question."""
    knowledge = open_graph(arguments)
    plan, method = asked(arguments, knowledge)
    return knowledge.retrieve(plan, method)


def _query(arguments: argparse.Namespace) -> int:
    from qafd.cli.answer import print_answer
    from qafd.flow.verify import sealed

    retrieval = retrieve(arguments)
    knowledge = open_graph(arguments)
    answer = knowledge.answer(retrieval)
    if arguments.keep is not None:
        print(f"qafd: kept as {_keep(knowledge, retrieval, arguments.keep)}; 'qafd runs' lists "
              "what is kept", file=sys.stderr)
    if arguments.json:
        print_json(sealed(retrieval.to_dict()))
    else:
        print_answer(answer)
        for notice in retrieval.notices:
            print(f"qafd: {one_line(notice, 400)}", file=sys.stderr)
        print("\npassages:" if retrieval.passages else "\nNo passage was retrieved.")
        for rank, passage in enumerate(retrieval.passages[:5], 1):
            sums = f" = {stated(passage.parts)}" if passage.parts else ""
            print(f"{rank}. {one_line(passage.title, 200)}  ({one_line(passage.document, 200)}, "
                  f"score {passage.score:.2f}{sums})")
            print(f"   {one_line(passage.text, 400)}\n")
        full = [one_line(n.name, 100) for n in retrieval.nodes
                if n.state == "saturated" and n.kind != "passage"]
        print(f"nodes: {', '.join(full[:20])}" if full else "No name was retrieved.")
    return NOTHING_FOUND if answer.abstained else DONE


def _keep(knowledge: "KnowledgeGraph", retrieval: "Retrieval", note: str) -> str:
    from qafd.runs import keep
    from qafd.runs.replay import recorded

    run = recorded(knowledge, retrieval, _plan(knowledge, retrieval), note=note)
    with knowledge.store() as store:
        return keep(store, run)


def _plan(knowledge: "KnowledgeGraph", retrieval: "Retrieval") -> "QueryPlan":
    return knowledge.plan(retrieval.query, subqueries=bool(retrieval.parts))


def _export(arguments: argparse.Namespace) -> int:
    from qafd import export
    from qafd.runs.bundle import bundled
    from qafd.runs.replay import recorded
    from qafd.runs.report import report

    if arguments.out is not None:
        check_output(arguments.out, arguments.db)
    if arguments.graph != (arguments.question is None):
        raise ParameterError("give either a question or --graph: what it retrieves is written, or "
                             "the whole graph")
    if arguments.graph:
        return _export_graph(arguments)
    if arguments.format == "csv":
        raise ParameterError("csv is a format of the whole graph; for a question choose nodes.csv, "
                             "edges.csv or passages.csv, or add --graph")
    retrieval = retrieve(arguments)

    def run() -> "Run":
        knowledge = open_graph(arguments)
        return recorded(knowledge, retrieval, _plan(knowledge, retrieval))

    kinds: dict[str, Callable[[], str | bytes]] = {
        "json": lambda: json.dumps(export.node_link(retrieval), ensure_ascii=False),
        "graphml": lambda: export.graphml(retrieval), "gexf": lambda: export.gexf(retrieval),
        "nodes.csv": lambda: export.nodes_csv(retrieval),
        "edges.csv": lambda: export.edges_csv(retrieval),
        "passages.csv": lambda: export.passages_csv(retrieval),
        "html": lambda: export.html(retrieval), "report": lambda: report(run()),
        "bundle": lambda: bundled(run())}
    write_out(kinds[arguments.format](), arguments.out)
    return DONE if retrieval.nodes else NOTHING_FOUND


def _export_graph(arguments: argparse.Namespace) -> int:
    from qafd.export.whole import whole
    from qafd.export.whole_files import write

    with open_graph(arguments).store() as store, whole(store) as graph:
        if graph.stale:
            print("qafd: documents or edits wait to be taken in; this is the graph without them",
                  file=sys.stderr)
        if arguments.out is None:
            sys.stdout.flush()
            write(graph, arguments.format, sys.stdout.buffer)
        else:
            try:
                with arguments.out.open("wb") as file:
                    write(graph, arguments.format, file)
            except OSError as error:
                raise ParameterError(f"{arguments.out} cannot be written: {error.strerror}"
                                     ) from error
        return DONE if graph.node_count else NOTHING_FOUND


def _verify(arguments: argparse.Namespace) -> int:
    from qafd.flow.verify import verify
    from qafd.runs.bundle import MAGIC, check

    stored = read_file(arguments.file)
    try:
        result = (check(stored) if stored.startswith(MAGIC)
                  else verify(json.loads(decode(stored)[0])))
    except (ValueError, RecursionError) as error:
        raise QafdError(f"{arguments.file} is no stored query; 'qafd query --json' prints one"
                        ) from error
    if arguments.json:
        print_json(asdict(result))
    else:
        print(*result.sentences, sep="\n")
    return DONE if result.ok else FAILED
