"""The commands that list entities and put them right: entities, edit."""

import argparse
import sys
from dataclasses import asdict

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
from qafd.view.panel import counted


def add(commands: Commands) -> None:
    """Add this group's commands."""
    listing = command(commands, "entities", _entities, "list entities, or which may be the same")
    listing.add_argument("words", nargs="*", help="only those with these words in a name")
    instead = listing.add_mutually_exclusive_group()
    instead.add_argument("--near", metavar="ENTITY",
                         help="list the entities that edges join to this one instead, and by what")
    instead.add_argument("--alike", action="store_true",
                         help="list pairs that may be one entity instead, and why")
    change = command(commands, "edit", _edit, "rename, merge, retype, hide or connect entities, or "
                     "undo that; without options list all edits")
    what = change.add_mutually_exclusive_group()
    what.add_argument("--call", nargs=2, metavar=("ENTITY", "NAME"),
                      help="rename an entity; if NAME is another one, they become one")
    what.add_argument("--apart", nargs=2, metavar=("ENTITY", "OTHER"),
                      help="the two are not the same, and are not suggested again")
    what.add_argument("--hide", metavar="ENTITY", help="this is no entity")
    what.add_argument("--type", nargs=2, metavar=("ENTITY", "TYPE"),
                      help="the entity is of this type, such as person or 'space station'")
    what.add_argument("--connect", nargs=2, metavar=("ENTITY", "OTHER"),
                      help="add an edge that leads from one entity to another; see --label, --note")
    what.add_argument("--disconnect", nargs=2, metavar=("ENTITY", "OTHER"),
                      help="remove the edges between two entities, also those of later documents")
    what.add_argument("--undo", type=int, metavar="N", help="take edit N back")
    change.add_argument("--label", default="", metavar="WORDS",
                        help="what the relation of --connect is called, such as 'founded'")
    change.add_argument("--note", default="", metavar="TEXT",
                        help="why there is one, shown in the place of a sentence")


def _entities(arguments: argparse.Namespace) -> int:
    from qafd.curate.entities import entities, entity, find, suggestions
    from qafd.curate.neighbors import neighbors

    knowledge = open_graph(arguments)
    words = " ".join(arguments.words)
    with knowledge.store() as store:
        if arguments.alike:
            pairs = [pair for pair in suggestions(store, knowledge.graph)
                     if find((pair.first, pair.second), words)]
            found: list[object] = [asdict(pair) for pair in pairs]
            lines = [f"{pair.similarity:5.2f}  {one_line(pair.first.name, 80)}  =  "
                     f"{one_line(pair.second.name, 80)}?  ({pair.why})" for pair in pairs]
        elif arguments.near:
            joined = [one for one in neighbors(store, entity(store, arguments.near))
                      if words.casefold() in one.name.casefold()]
            found = [asdict(one) for one in joined]
            lines = [f"{one_line(one.name, 80)}  {one_line(', '.join(one.labels), 160)}  "
                     f"({one_line(one.grounds, 300)})" for one in joined]
        else:
            some = find(entities(store), words)
            found = [asdict(one) for one in some]
            lines = [f"{counted(one.passages, 'passage'):>14}  {one.type or '-':12}  "
                     f"{one_line(one.name, 120)}" for one in some]
    if arguments.json:
        print_json(found)
    else:
        if not found:
            what = ("pair of entities looks like one" if arguments.alike else
                    "edge joins it to another entity" if arguments.near else "entity is here")
            print(f"qafd: no {what}{f', with {words!r} in a name' * bool(words)}",
                  file=sys.stderr)
        for line in lines:
            print(line)
    return DONE if found else NOTHING_FOUND


def _edit(arguments: argparse.Namespace) -> int:
    from qafd.curate import entities as curate
    from qafd.curate.neighbors import connect, disconnect
    from qafd.ingest import refresh

    if (arguments.label or arguments.note) and not arguments.connect:
        raise ParameterError("--label and --note say something of --connect; name two entities "
                             "with it")
    knowledge = open_graph(arguments)
    with knowledge.store() as store:
        before = store.edits.all()
        if arguments.call:
            curate.call(store, *arguments.call)
        if arguments.apart:
            curate.keep_apart(store, *arguments.apart)
        if arguments.hide:
            curate.hide(store, arguments.hide)
        if arguments.type:
            curate.retype(store, *arguments.type)
        if arguments.connect:
            source, target = arguments.connect
            connect(store, source, target, arguments.label, arguments.note)
        if arguments.disconnect:
            disconnect(store, *arguments.disconnect)
        if arguments.undo is not None:
            store.edits.undo(arguments.undo)
        changed = store.edits.all() != before
        if changed:
            settings().hold_for(store)
    if changed:
        refresh(knowledge.path, keys=keys_of_environment())
    with knowledge.store() as store:
        edits = store.edits.all()
    if arguments.json:
        print_json([asdict(edit) for edit in edits])
    else:
        if not edits:
            print("qafd: nothing was edited yet", file=sys.stderr)
        for edit in edits:
            state = "undone" if edit.undone_at else edit.action
            more = "".join(f"  ({one_line(said)})" for said in (edit.label, edit.note) if said)
            print(f"{edit.id:4}  {edit.made_at[:16]}  {state:6}  {one_line(edit.key, 80)}"
                  f"{'  ->  ' * bool(edit.name)}{one_line(edit.name, 80)}{more}")
    return DONE
