"""Questions: what is retrieved, its export, and the check of its certificate."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    add_question,
    check_output,
    command,
    method_of,
    open_workspace,
    print_json,
    stdin,
    text_of,
)
from qafd.errors import ParameterError, QafdError
from qafd.plaintext import decode, one_line

if TYPE_CHECKING:
    from qafd.retrieve.base import Retrieval

LARGEST = 100 * 2**20  # bytes of a stored query


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    query = add_question(commands, "query", _query,
                         "retrieve the subgraph and passages for a question")
    query.add_argument("--method", default="qafd", help="default: %(default)s")

    export = add_question(commands, "export", _export, "write a retrieval as a file",
                          as_json=False)
    export.add_argument("--format", required=True,
                        choices=("json", "graphml", "nodes.csv", "edges.csv", "html"))
    export.add_argument("--out", type=Path, help="the file to write (default: stdout)")
    export.add_argument("--method", default="qafd", help="default: %(default)s")

    verify = command(commands, "verify", _verify, "re-check the certificate of a stored query",
                     db=False)
    verify.add_argument("file", help="what 'qafd query --json' printed; '-' reads stdin")


def retrieve(arguments: argparse.Namespace) -> "Retrieval":
    """What the method that the options name retrieves for the question."""
    knowledge = open_workspace(arguments)
    return knowledge.retrieve(text_of(arguments.question), method_of(arguments, knowledge.graph))


def _query(arguments: argparse.Namespace) -> int:
    from qafd.cli.answer import print_answer
    from qafd.verify import sealed

    retrieval = retrieve(arguments)
    answer = open_workspace(arguments).answer(retrieval)
    if arguments.json:
        print_json(sealed(retrieval.to_dict()))
    else:
        print_answer(answer)
        print("\npassages:")
        for notice in retrieval.notices:
            print(f"qafd: {one_line(notice, 400)}", file=sys.stderr)
        for rank, passage in enumerate(retrieval.passages[:5], 1):
            print(f"{rank}. {one_line(passage.title, 200)}  ({one_line(passage.document, 200)}, "
                  f"score {passage.score:.3f})")
            print(f"   {one_line(passage.text, 400)}\n")
        full = [one_line(n.name, 100) for n in retrieval.nodes
                if n.state == "saturated" and n.kind != "passage"]
        print("nodes:", ", ".join(full[:20]))
    return NOTHING_FOUND if answer.abstained else DONE


def _export(arguments: argparse.Namespace) -> int:
    from qafd import export

    if arguments.out is not None:
        check_output(arguments.out, arguments.db)
    retrieval = retrieve(arguments)
    text = {"json": lambda: json.dumps(export.node_link(retrieval), ensure_ascii=False),
            "graphml": lambda: export.graphml(retrieval),
            "nodes.csv": lambda: export.nodes_csv(retrieval),
            "edges.csv": lambda: export.edges_csv(retrieval),
            "html": lambda: export.html(retrieval)}[arguments.format]()
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        try:
            arguments.out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"{arguments.out} cannot be written: {error.strerror}") from error
    return DONE if retrieval.nodes else NOTHING_FOUND


def _verify(arguments: argparse.Namespace) -> int:
    from qafd.verify import verify

    try:
        stored = stdin() if arguments.file == "-" else _bytes(Path(arguments.file))
    except OSError as error:
        raise QafdError(f"{arguments.file or 'a file without a name'} cannot be read: "
                        f"{error.strerror}") from error
    try:
        result = verify(json.loads(decode(stored)[0]))
    except (ValueError, RecursionError) as error:
        raise QafdError(f"{arguments.file} is no stored query; 'qafd query --json' prints one"
                        ) from error
    if arguments.json:
        print_json(asdict(result))
    else:
        print(*result.sentences, sep="\n")
    return DONE if result.ok else FAILED


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        stored = file.read(LARGEST + 1)  # a device may have no end
    if len(stored) > LARGEST:
        raise QafdError(f"{path} has more than {LARGEST // 2**20} MB, which no stored query has; "
                        "'qafd query --json' prints one")
    return stored
