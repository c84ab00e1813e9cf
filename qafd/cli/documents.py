"""The documents of a workspace: listed, searched, deleted, restored and erased."""

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    NOTHING_FOUND,
    Commands,
    command,
    keys_of_environment,
    open_graph,
    print_json,
    settings,
)
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    docs = command(commands, "docs", _docs, "list, search, delete, restore or erase documents")
    docs.add_argument("--search", metavar="WORDS", help="the passages that have these words")
    docs.add_argument("--errors", metavar="FILE", help="the passages of a file that a model did "
                      "not read as it should, why, and its raw replies")
    docs.add_argument("--delete", metavar="NAME", action="append", default=[],
                      help="take a file or a document out of the graph; --undo brings it back")
    docs.add_argument("--undo", metavar="NAME", action="append", default=[])
    docs.add_argument("--erase", metavar="NAME", action="append", default=[],
                      help="remove a file or a document for good; says what goes, and does it "
                      "with --yes")
    docs.add_argument("--yes", action="store_true", help="erase without being asked")


def _docs(arguments: argparse.Namespace) -> int:
    from qafd.ingest import refresh

    asked = [name for name in ("search", "errors") if getattr(arguments, name) is not None]
    changes = arguments.delete or arguments.undo or arguments.erase
    if len(asked) > 1 or (asked and changes):
        raise ParameterError(f"--{asked[-1]} does one thing alone; leave the other options out")
    knowledge = open_graph(arguments)
    if arguments.search is not None:
        return _search(knowledge, arguments)
    if arguments.errors is not None:
        return _errors(knowledge, arguments)
    if arguments.erase and not arguments.yes:  # before anything else is changed
        _refuse(knowledge, arguments.erase)
    if arguments.delete or arguments.undo:
        with knowledge.store() as store:
            store.documents.delete(*arguments.delete)
            for name in arguments.undo:
                store.documents.undo(name)
            settings().hold_for(store)
        refresh(knowledge.path, keys=keys_of_environment())
    if arguments.erase:
        _erase(knowledge, arguments)
    return _list(knowledge, arguments)


def _search(knowledge: "KnowledgeGraph", arguments: argparse.Namespace) -> int:
    from qafd.answer import paged
    from qafd.view.panel import counted

    with knowledge.store() as store:
        found = store.passages.search(arguments.search)
        pages = {hit.chunk.id: paged(hit.chunk, store.documents.get(hit.chunk.document).marks)
                 for hit in found.hits}
    if arguments.json:
        print_json({"total": found.total, "said": found.said, "hits": [
            {**asdict(hit.chunk), "score": hit.score, "parts": hit.parts} for hit in found.hits]})
        return DONE if found.hits else NOTHING_FOUND
    said = found.said or ("" if found.hits else "no passage has this; give other words")
    if said:
        print(f"qafd: {said}", file=sys.stderr)
    left = found.total - len(found.hits)
    for hit in found.hits:
        text = "".join(f"[{part}]" if on else part for part, on in hit.parts)
        place = ", ".join(filter(None, [one_line(hit.chunk.document), pages[hit.chunk.id]]))
        print(f"{one_line(hit.chunk.title)}  ({place})\n"
              f"    {one_line(text, 1000)}")
    if left:
        print(f"qafd: and {counted(left, 'passage')} more", file=sys.stderr)
    return DONE if found.hits else NOTHING_FOUND


def _errors(knowledge: "KnowledgeGraph", arguments: argparse.Namespace) -> int:
    from qafd.curate.unread import unread

    with knowledge.store() as store:
        found = unread(store, arguments.errors)
        error = next(file.error for file in store.files.all() if file.name == arguments.errors)
    if arguments.json:
        print_json({"file": arguments.errors, "error": error,
                    "passages": [asdict(one) for one in found]})
        return DONE if found or error else NOTHING_FOUND
    if error:
        print(one_line(error, 2000))
    for one in found:
        page = f", page {one.page}" if one.page is not None else ""
        print(f"{one_line(one.document)}, passage {one.number}{page}: {one_line(one.reason)}")
        for reply in one.replies:
            lines = [one_line(line, 2000) for line in reply.split("\n")]
            print(*(f"    | {line}" for line in lines), sep="\n")
    if not found and not error:
        print(f"qafd: nothing went wrong with {one_line(arguments.errors)}", file=sys.stderr)
        return NOTHING_FOUND
    return DONE


def _refuse(knowledge: "KnowledgeGraph", names: list[str]) -> None:
    """Raise ParameterError that says what erasing these would take."""
    from qafd.ingest.erase import STAYS, footprint

    with knowledge.store() as store:
        going = footprint(store, names).sentence
    raise ParameterError(f"{one_line(going, 4000)} {STAYS} Add --yes to erase.")


def _erase(knowledge: "KnowledgeGraph", arguments: argparse.Namespace) -> None:
    with knowledge.store() as store:
        settings().hold_for(store)
    print(f"qafd: {one_line(knowledge.erase(*arguments.erase).past, 4000)}", file=sys.stderr)


def _list(knowledge: "KnowledgeGraph", arguments: argparse.Namespace) -> int:
    from qafd.view.panel import counted

    with knowledge.store() as store, store.snapshot():
        files, contents = store.files.all(), store.files.contents()
    if arguments.json:
        print_json([asdict(file) | asdict(contents[file.name]) for file in files])
    else:
        if not files:
            print("qafd: this workspace has no documents", file=sys.stderr)
        for file in files:
            state = "deleted" if file.deleted_at else file.status
            held = contents[file.name]
            print(f"{state:10} {counted(file.passages, 'passage'):>14} "
                  f"{counted(held.entities, 'entity'):>14} "
                  f"{counted(held.relations, 'relation'):>16} "
                  f"{counted(held.tokens, 'token'):>15}  "
                  f"{one_line(file.name, 200)}  {file.error}".rstrip())
    return DONE if files or arguments.erase else NOTHING_FOUND
