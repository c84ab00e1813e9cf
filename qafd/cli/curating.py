"""Documents and entities: listed, searched, taken out and put right."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from qafd.answer import name_pages
from qafd.cli.command import (
    Outcome,
    keys_of_environment,
    note,
    spending,
)
from qafd.curate.entities import (
    call,
    entities,
    entity,
    find,
    hide,
    keep_apart,
    suggestions,
)
from qafd.curate.files import Unread, unread
from qafd.curate.neighbors import connect, disconnect, neighbors
from qafd.curate.splitting import find_mixed, split
from qafd.edits import Edit
from qafd.errors import ParameterError
from qafd.ingest import measure_footprint, refresh
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.plaintext import one_line
from qafd.storage.rows import Hit
from qafd.wording import count
from qafd.wording.documents import (
    say_going,
    say_gone,
    say_grounds,
    say_likeness,
    say_reading,
    say_staying,
)


def docs(knowledge: KnowledgeGraph, search: str | None, errors: str | None,
         delete: tuple[str, ...], undo: tuple[str, ...], erase: tuple[str, ...], yes: bool
         ) -> Outcome:
    alone = [name for name, given in (("search", search), ("errors", errors)) if given is not None]
    if len(alone) > 1 or (alone and (delete or undo or erase)):
        raise ParameterError(f"--{alone[-1]} cannot be combined with these options; run the command once "
                             "for each")
    if search is not None:
        return _search(knowledge, search)
    if errors is not None:
        return _list_errors(knowledge, errors)
    if erase and not yes:  # before anything else is changed
        with knowledge.store() as store:
            going = say_going(measure_footprint(store, erase))
        raise ParameterError(f"{one_line(going, 4000)} {say_staying()} Add --yes to erase.")
    if delete or undo:
        with knowledge.store() as store:
            store.documents.delete(*delete)
            for name in undo:
                store.documents.undo(name)
            spending().hold_for(store)
        refresh(knowledge.url, keys=keys_of_environment())
    if erase:
        with knowledge.store() as store:
            spending().hold_for(store)
        note(say_gone(knowledge.erase(*erase)))
    listed = _list_documents(knowledge)
    return replace(listed, found=True) if erase else listed


def _search(knowledge: KnowledgeGraph, words: str) -> Outcome:
    lines: list[str] = []
    notes = []
    with knowledge.store() as store:
        found = store.passages.search(words)
        for hit in found.hits:
            page = name_pages(hit.chunk, store.documents.get(hit.chunk.document).marks)
            lines += _hit_lines(hit, page)
    if found.said:
        notes.append(found.said)
    elif not found.hits:
        notes.append("no passage has this; try other words")
    if found.total > len(found.hits):
        notes.append(f"and {count(found.total - len(found.hits), 'passage')} more")
    hits = [{**asdict(hit.chunk), "score": hit.score, "parts": hit.parts} for hit in found.hits]
    return Outcome({"total": found.total, "said": found.said, "hits": hits}, lines,
                   found=bool(hits), notes=notes)


def _hit_lines(hit: Hit, page: str) -> Iterator[str]:
    place = one_line(hit.chunk.document)
    if page:
        place = f"{place}, {page}"
    text = "".join(f"[{part}]" if marked else part for part, marked in hit.parts)
    yield f"{one_line(hit.chunk.title)}  ({place})"
    yield f"    {one_line(text, 1000)}"


def _list_errors(knowledge: KnowledgeGraph, name: str) -> Outcome:
    with knowledge.store() as store:
        found = unread(store, name)
        error = next(file.error for file in store.files.all() if file.name == name)
    lines = [one_line(error, 2000)] if error else []
    for one in found:
        lines += _unread_lines(one)
    notes = [] if lines else [f"nothing went wrong with {one_line(name)}"]
    return Outcome({"file": name, "error": error, "passages": found}, lines, bool(lines),
                   notes=notes)


def _unread_lines(one: Unread) -> Iterator[str]:
    page = "" if one.page is None else f", page {one.page}"
    yield f"{one_line(one.document)}, passage {one.number}{page}: {one_line(say_reading(one.reason))}"
    for reply in one.replies:
        for line in reply.split("\n"):
            yield f"    | {one_line(line, 2000)}"


def _list_documents(knowledge: KnowledgeGraph) -> Outcome:
    with knowledge.store() as store, store.snapshot():
        files, contents = store.files.all(), store.files.contents()
    lines = []
    for file in files:
        held = contents[file.name]
        state = "deleted" if file.deleted_at else file.status
        lines.append(f"{state:10} {count(file.passages, 'passage'):>14} "
                     f"{count(held.entities, 'entity'):>14} "
                     f"{count(held.relations, 'relation'):>16} "
                     f"{count(held.tokens, 'token'):>15}  "
                     f"{one_line(file.name, 200)}  {file.error or ' '.join(file.notices)}".rstrip())
    data = [asdict(file) | asdict(contents[file.name]) for file in files]
    notes = [] if files else ["this workspace has no documents"]
    return Outcome(data, lines, found=bool(files), notes=notes)


def list_entities(knowledge: KnowledgeGraph, words: tuple[str, ...], near: str | None, alike: bool,
                  mixed: bool) -> Outcome:
    if sum(map(bool, (alike, near, mixed))) > 1:
        raise ParameterError("--near, --alike and --mixed exclude each other; choose one")
    wanted = " ".join(words)
    if alike:
        outcome, absence = _list_alike(knowledge, wanted), "pair of entities looks like one"
    elif mixed:
        outcome, absence = _list_mixed(knowledge, wanted), "entity looks like two"
    elif near:
        outcome = _list_near(knowledge, near, wanted)
        absence = "edge joins it to another entity"
    else:
        outcome, absence = _list_named(knowledge, wanted), "entity is here"
    if outcome.found:
        return outcome
    if wanted:
        absence += f", with {wanted!r} in a name"
    return replace(outcome, notes=[f"no {absence}"])


def _list_alike(knowledge: KnowledgeGraph, words: str) -> Outcome:
    with knowledge.store() as store:
        pairs = [pair for pair in suggestions(store, knowledge.graph)
                 if find((pair.first, pair.second), words)]
    return Outcome(pairs, [f"{pair.similarity:5.2f}  {one_line(pair.first.name, 80)}  =  "
                           f"{one_line(pair.second.name, 80)}?  ({say_likeness(pair)})" for pair in pairs],
                   found=bool(pairs))


def _list_mixed(knowledge: KnowledgeGraph, words: str) -> Outcome:
    with knowledge.store() as store:
        found = [one for one in find_mixed(store, knowledge.graph) if find((one.entity,), words)]
    lines = []
    for one in found:
        lines.append(f"{one_line(one.entity.name, 80)}  (possibly two)")
        lines += [f"    {len(group)} passages: {' '.join(group)}" for group in one.groups]
    return Outcome(found, lines, found=bool(found))


def _list_near(knowledge: KnowledgeGraph, name: str, words: str) -> Outcome:
    with knowledge.store() as store:
        joined = [one for one in neighbors(store, entity(store, name))
                  if words.casefold() in one.name.casefold()]
    return Outcome(joined, [f"{one_line(one.name, 80)}  {one_line(', '.join(one.labels), 160)}  "
                            f"({one_line(say_grounds(one), 300)})" for one in joined],
                   found=bool(joined))


def _list_named(knowledge: KnowledgeGraph, words: str) -> Outcome:
    with knowledge.store() as store:
        some = find(entities(store), words)
    return Outcome(some, [f"{count(one.passages, 'passage'):>14}  {one.type or '-':12}  "
                          f"{one_line(one.name, 120)}" for one in some], found=bool(some))


CHANGES: dict[str, Callable[..., object]] = {
    "call": call, "apart": keep_apart, "hide": hide, "split": split, "connect": connect,
    "disconnect": disconnect, "undo": lambda store, number: store.edits.undo(number)}


def edit(knowledge: KnowledgeGraph, label: str, reason: str, passages: tuple[str, ...],
         **changes: Any) -> Outcome:
    given = [name for name, value in changes.items() if value is not None]
    if (label or reason) and "connect" not in given:
        raise ParameterError("--label and --note describe an edge; add --connect and two entities")
    if passages and "split" not in given:
        raise ParameterError("--passage needs --split; add --split and an entity")
    if len(given) > 1:
        raise ParameterError("a command makes one edit; give one of these options")
    more = {"connect": (label, reason), "split": (passages,)}
    with knowledge.store() as store:
        before = store.edits.all()
        for name in given:
            value = changes[name]
            CHANGES[name](store, *(value if isinstance(value, tuple) else (value,)), *more.get(name, ()))
        changed = store.edits.all() != before
        if changed:
            spending().hold_for(store)
    if changed:
        refresh(knowledge.url, keys=keys_of_environment())
    with knowledge.store() as store:
        edits = store.edits.all()
    return Outcome(edits, map(_edit_line, edits),
                   notes=[] if edits else ["nothing was edited yet"])


def _edit_line(edit: Edit) -> str:
    state = "undone" if edit.undone_at else edit.action
    line = f"{edit.id:4}  {edit.made_at[:16]}  {state:6}  {one_line(edit.key, 80)}"
    if edit.name:
        line += f"  ->  {one_line(edit.name, 80)}"
    if edit.passages:
        line += f"  ({count(len(edit.passages), 'passage')})"
    for words in (edit.label, edit.note):
        if words:
            line += f"  ({one_line(words)})"
    return line
