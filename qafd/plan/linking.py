"""The names that a question has, linked to the entities of a graph."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from qafd.graph import Graph
from qafd.plan.name_columns import NameColumns, columns_of, without_mark
from qafd.plan.spelling import Vocabulary, common_words, right_word
from qafd.reading.names import TYPES, proper_runs
from qafd.reading.names.tagger import is_in_dictionary
from qafd.reading.text import NameIndex, as_typed, canonical, singular, variants, words_of
from qafd.reading.text.scripts import bears_no_capital, is_other, is_written_small
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Vectors, node_id

if TYPE_CHECKING:
    from spacy.tokens import Doc

WRONG = 0.15  # share of letters up to which a name of several words is another one misspelled
LONG = 6  # letters that a single word must have
SLIPS = 9  # letters from which a word may have two slips, else one
NEAREST = 0.8  # cosine from which a name stands for one that the graph does not know
SOUGHT = TYPES - {"NORP", "LANGUAGE"}  # single words of these types ought to be names
CALLED = frozenset(("ORG", ""))  # kinds, "" untold, that may go by one word of their names as persons do
SHORTEST = 3  # letters of such a word
TOLD = 4  # unknown names of a question that are told one by one

_DETERMINER = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


class FoundName(NamedTuple):
    """The key of an entity, and where a text names it."""

    key: str
    start: int
    end: int


@dataclass(frozen=True)
class Named:
    """A name at `start:end` of a question, and its kind."""

    text: str
    start: int
    end: int
    kind: str


class Way(Enum):
    """The way from a name to an entity, the surest first."""

    TYPED = auto()
    WORD = auto()
    SLIP = auto()
    VECTOR = auto()


class NameLink(NamedTuple):
    """An entity that a name may mean, by its key; `near` is the cosine of their vectors by `Way.VECTOR`."""

    key: str
    way: Way
    near: float | None = None


@dataclass(frozen=True)
class Links:
    """The names of a question as keys of entities, and notices for people.

    `keys` are those found and the stand-ins; `read` is the question with the names that are spelled
    alike in the place of misspelled ones and with the words of `respelled` put right; `written` has
    its writing of other stand-ins, each with its key. `notices` are of names.
    """

    keys: tuple[str, ...]
    notices: tuple[Notice, ...]
    read: str
    written: tuple[tuple[str, str], ...]
    respelled: tuple[Notice, ...]


class Names:
    """The entities of a graph by their names.

    Parameters
    ----------
    graph : Graph
    merged : mapping of str to str, optional
        Keys of names that are another entity's by an edit, to the key of that entity.
    columns : NameColumns, optional
        Of the graph.
    """

    def __init__(self, graph: Graph, merged: Mapping[str, str] | None = None,
                 columns: NameColumns | None = None) -> None:
        self._names = graph.names
        self._columns = columns or NameColumns.build(graph)
        self._merged = {name: key for name, key in (merged or {}).items()
                        if self._is_key(key) and not self._is_key(name)}
        self._typed = self._type_merged()
        self._indexed: tuple[str, NameIndex] | None = None

    def __len__(self) -> int:
        return len(self._columns.rows)

    def _is_key(self, name: str) -> bool:
        return self._columns.keys.find(name) is not None

    def _type_merged(self) -> dict[str, str]:
        """Return the changes that merged names make to the typed ones."""
        columns, typed = self._columns, dict[str, str]()
        for name in sorted(self._merged):
            form = as_typed(name)
            known = columns.typed.find(form)
            if known is None or columns.keys[columns.meant[known]] < name:
                typed[form] = self._merged[name]
        return typed

    def _mean(self, typed: str) -> str | None:
        """Return the key that a typed name means."""
        if typed in self._typed:
            return self._typed[typed]
        known = self._columns.typed.find(typed)
        return None if known is None else self._columns.keys[self._columns.meant[known]]

    def row(self, key: str) -> int | None:
        """Return the graph row of an entity by its key, None where there is none."""
        place = self._columns.keys.find(key)
        return None if place is None else int(self._columns.shown[place])

    def show(self, key: str) -> str:
        """Return the name of an entity by its key."""
        place = self._columns.keys.find(key)
        assert place is not None
        return self._names[int(self._columns.shown[place])]

    def get(self, name: str) -> str | None:
        """Return the key of the entity that a canonical name means, with other accents and dashes too."""
        if self._is_key(name):
            return name
        return self._merged.get(name) or self._mean(as_typed(name))

    def namesakes(self, key: str) -> tuple[str, ...]:
        """Return the keys of the other entities that an imported graph calls as it calls this one."""
        columns, name = self._columns, without_mark(key)
        found = []
        for at in columns.marked.beginning(name):
            if columns.marked[at] == name:
                found.append(columns.keys[columns.sharing[at]])
        return tuple(one for one in found if one != key)

    def find(self, asked: str, common: set[str]) -> list[FoundName]:
        """Return names in a text by longest match; lower-case terms only when there is nothing else.

        Accents and dashes do not matter. In a text typed without capitals single words count as
        well, but for the `common` ones.
        """
        capitals = _capitals(asked)
        found = []
        for one in self.matches(asked):
            letters = asked[one.start:one.end]
            capital = not capitals or any(map(str.isupper, letters)) or any(map(bears_no_capital, letters))
            if " " in one.key or (one.key not in common and capital):
                found.append(one)
        return [one for one in found if not self._is_term(one.key)] or found

    def candidates(self, name: str, vector: Callable[[], Vectors], ways: Collection[Way] = tuple(Way)
                   ) -> Iterator[NameLink]:
        """Yield the entities that a name may mean, the best first.

        It is the name as typed or that of a language, a word of longer names, the name spelled most
        alike (see `alike`), or, of two words or more, the one whose vector is nearest to `vector`,
        shape (d,), which is asked for only then.
        """
        key = canonical(name)
        if Way.TYPED in ways:
            known = self.get(key) or self.get(f"{key} language")
            if known:
                yield NameLink(known, Way.TYPED)
        if Way.WORD in ways:
            yield from (NameLink(bearer, Way.WORD) for bearer in self.bearers(key))
        if Way.SLIP in ways and (alike := self.alike(key)):
            yield NameLink(alike, Way.SLIP)
        vectors, rows = self._columns.vectors, self._columns.rows
        if Way.VECTOR in ways and " " in key and vectors is not None and len(self):
            cosines = vectors @ vector()
            best = int(cosines.argmax())
            if cosines[best] >= NEAREST:
                yield NameLink(canonical(self._names[rows[best]]), Way.VECTOR, float(cosines[best]))

    def mean(self, name: str, vector: Vectors) -> str | None:
        """Return the key of the entity that a name most likely means, None where there is none."""
        ways = (Way.TYPED, Way.SLIP, Way.VECTOR)
        return next((one.key for one in self.candidates(name, lambda: vector, ways)), None)

    def bearers(self, word: str) -> list[str]:
        """Return the keys of the entities whose names of several words begin or end with a canonical one: of
        "Pavel" all who are called so."""
        typed = as_typed(word)
        if " " in typed or len(typed) < SHORTEST:
            return []
        names = [self._columns.typed[at] for at in self._columns.typed.having(typed)]
        found: dict[str, None] = {}
        for name in (*names, *self._typed):
            words = name.split(" ")
            if len(words) > 1 and typed in (words[0], words[-1]):
                found[self._mean(name) or ""] = None
        return list(found)

    def alike(self, key: str) -> str:
        """Return the key of the entity whose name has the fewest slips against a canonical one, "" for none
        (`is_misspelled`) and where several have as few.

        There is none for one word that is short or a common English one.
        """
        typed = as_typed(key)
        several = " " in typed
        if not several and (len(typed) < LONG or not typed.isalpha() or typed in common_words()):
            return ""
        most = int(WRONG * len(typed)) if several else 2
        column = self._columns.typed
        near = np.abs(np.diff(column.bounds) - len(typed.encode())) <= 3 * most  # bytes of a letter
        known = [*column.pick(np.flatnonzero(near)), *self._typed]
        found: dict[str, int] = {}
        for name, slips, _ in extract(typed, known, scorer=OSA.distance, score_cutoff=most, limit=None):
            if slips == min(found.values(), default=slips) and is_misspelled(typed, name):
                found[self._mean(name) or ""] = slips
        return found.popitem()[0] if len(found) == 1 else ""

    def link(self, asked: str, named: Sequence[Named], found: Sequence[FoundName],
             embed: Callable[[str], Vectors], common: set[str],
             vocabulary: Vocabulary | None = None) -> Links:
        """Return the entities that a question names or means, given the names found in it.

        Parameters
        ----------
        named : sequence of Named
            The names that a tagger finds, see `named_in`.
        embed : callable
            The vector of a name that the graph does not have, shape (d,).
        common : set of str
            Words that are no names.
        vocabulary : Vocabulary, optional
            Where it is known, a word of the question that no passage has means the name that
            it is by a slip, taken for a name or not; another one in small letters is read as the
            known word that is one slip away (`qafd.plan.spelling.right_word`).
        """
        links = _Links(asked, self.show, list(found))
        for span in named:
            if not set(canonical(span.text).split()) <= common:  # a tagger takes "Whom" for a name
                self._link_name(links, span, embed)
        if vocabulary:
            taken = [(one.start, one.end) for one in links.found]
            taken += [*links.right, *((span.start, span.end) for span in named)]
            for word, start, end in words_of(asked):
                free = not any(start < b and a < end for a, b in taken)
                if free and word not in common:
                    self._link_word(links, word, start, end, vocabulary)
        return links.finish()

    def _link_name(self, links: "_Links", span: Named, embed: Callable[[str], Vectors]) -> None:
        """Link a name of a tagger to the best candidate; one that contains known names only by slips."""
        key = canonical(span.text)
        parts = [one for one in links.found if span.start < one.end and one.start < span.end]
        if parts and (self.get(key) or any(
                one.start <= span.start and span.end <= one.end for one in parts)):
            return
        ways = {Way.SLIP} if parts else self._choose_ways(span, key)
        found = self.candidates(span.text, lambda: embed(span.text), ways)
        best = next(found, None)
        if best is None:
            links.tell_unknown(span, parts)
            return
        links.found = [one for one in links.found if one not in parts]
        if best.way == Way.WORD:
            bearers = [best.key, *(one.key for one in found if one.way == Way.WORD)]
            links.shorten(_bare(span.text), key, bearers)
        elif best.way != Way.TYPED:
            links.stand_in(span.start, span.text, best.key, best.near)
        elif self.get(key):
            links.keys[best.key] = None
        else:
            links.stand(span.text, best.key)

    def _choose_ways(self, span: Named, key: str) -> set[Way]:
        """Return all ways, without that by a word if a name cannot be one of a longer one, as a last name."""
        called = span.kind == "PERSON" or span.kind in CALLED and not is_in_dictionary(key)
        may = called and span.text[0].isupper() and len(self.bearers(key)) <= TOLD
        return set(Way) if may else set(Way) - {Way.WORD}

    def _link_word(self, links: "_Links", word: str, start: int, end: int, vocabulary: Vocabulary) -> None:
        """Link a word outside of names that no passage has and that is a name by a slip, or put it right
        where it is another word by a slip."""
        key, typed = self.alike(word), links.asked[start:end]
        spread = vocabulary.spread if typed.islower() else None
        if key in links.keys or not (key or spread) or vocabulary.heard(word):
            return
        if key:
            links.stand_in(start, typed, key)
            links.found = [one for one in links.found if not self._is_term(one.key)]
        elif spread and (right := right_word(typed, spread)):
            links.respell(start, typed, right)

    def matches(self, text: str, plural: bool = False) -> Iterator[FoundName]:
        """Yield all names in a text by longest match, also in the `plural` if wanted."""
        asked = as_typed(text)
        for typed, start, end in self._index(asked).find(asked, anyhow=True, plural=plural):
            own = canonical(text[start:end])
            # "The Walt Disney Company" is not Walt Disney where the graph has both
            key = self.get(own) if as_typed(own) == typed else None
            key = key or self._mean(typed)
            assert key is not None
            yield FoundName(key, start, end)

    def _index(self, asked: str) -> NameIndex:
        """Return an index of all names that can be in a text, or decide how it is read; kept for the next
        look at the same text."""
        known = self._indexed  # which another thread may set meanwhile
        if known is None or known[0] != asked:
            known = asked, self._index_anew(asked)
            self._indexed = known
        return known[1]

    def _index_anew(self, asked: str) -> NameIndex:
        words = [variants(word, asked) for word, _, _ in words_of(asked)]
        if not is_other(asked):
            words = [{*forms, *map(singular, forms)} for forms in words]
        columns, names = self._columns, set(self._typed)
        openings = columns.openings
        opened = {word: openings.beginning(f"{word}\n") for word in set().union(*words)}
        every = [openings.beginning(f"{word}\n\n", places) for word, places in opened.items() if places]
        for one, two in pairwise(words):
            every += [openings.beginning(f"{first}\n{second}\n", opened[first])
                      for first, second in product(one, two) if opened[first]]
        if is_other(asked):  # how a word is read depends on whether any name begins with it
            every += [places[:2] for places in opened.values()]
        for places in every:
            names |= {columns.typed[at] for at in columns.opened[places.start:places.stop].tolist()}
        return NameIndex(names)

    def _is_term(self, key: str) -> bool:
        return is_written_small(self.show(key))


@dataclass
class _Links:
    """The links of a question so far: names found in it, keys that replace others, notices for people
    about names and other words, and corrections of misspelled ones."""

    asked: str
    show: Callable[[str], str]
    found: list[FoundName]
    keys: dict[str, None] = field(default_factory=dict)
    told: list[Notice] = field(default_factory=list)
    respelled: list[Notice] = field(default_factory=list)
    right: dict[tuple[int, int], str] = field(default_factory=dict)
    written: dict[tuple[str, str], None] = field(default_factory=dict)

    def stand(self, typed: str, key: str) -> None:
        """Replace a typed name by an entity, and keep the text."""
        self.keys[key] = None
        self.written[bare_name(typed), key] = None

    def tell_unknown(self, span: Named, parts: Sequence[FoundName]) -> None:
        """Note that no entity has a name, or only a part of it; unless one word may be none."""
        key = canonical(span.text)
        if parts and span.kind == "PERSON":
            part = self.asked[parts[0].start:parts[0].end]
            self.told.append(notice(NoticeKind.NAME_IN_PART, name=_bare(span.text), part=part))
        elif not parts and (" " in key or (span.kind in SOUGHT and len(key) > 2)):
            self.told.append(notice(NoticeKind.NAME_UNKNOWN, name=_bare(span.text)))

    def shorten(self, typed: str, word: str, bearers: Sequence[str]) -> None:
        """Replace one word of a name by its only bearer, or report the candidates.

        A bearer all of whose other words are in the dictionary, as "Pavel Bridge", is only reported.
        """
        others = set(as_typed(bearers[0]).split(" ")) - {as_typed(word)}
        if len(bearers) == 1 and not all(map(is_in_dictionary, others)):
            self.stand(typed, bearers[0])
            self.told.append(notice(NoticeKind.NAME_SHORT, name=typed, other=self.show(bearers[0])))
        else:
            self.told.append(notice(NoticeKind.NAME_SHARED, name=typed,
                                    names=", ".join(map(self.show, bearers))))

    def stand_in(self, start: int, typed: str, key: str, similarity: float | None = None) -> None:
        """Replace the name typed from `start` on by an entity, once: spelled alike, or near it."""
        if key in self.keys:
            return
        self.keys[key] = None
        name = self.show(key)
        typed = _bare(typed)
        if similarity is None:
            self.told.append(notice(NoticeKind.NAME_ALIKE, name=typed, other=name))
            self.right[start, start + len(typed)] = name if _capitals(self.asked) else name.lower()
        else:
            self.stand(typed, key)
            self.told.append(notice(NoticeKind.NAME_NEAR, name=typed, other=name,
                                    similarity=similarity))

    def respell(self, start: int, typed: str, word: str) -> None:
        """Read the word typed from `start` on as another one."""
        self.respelled.append(notice(NoticeKind.WORD_ALIKE, name=typed, other=word))
        self.right[start, start + len(typed)] = word

    def finish(self) -> Links:
        """Return the links, with as many unknown names as are reported one by one."""
        told = self.told[:TOLD]
        if len(self.told) > TOLD:
            told.append(notice(NoticeKind.MORE_UNKNOWN, count=len(self.told) - TOLD))
        read = self.asked
        for (start, end), name in sorted(self.right.items(), reverse=True):
            read = read[:start] + name + read[end:]
        keys = dict.fromkeys([*(one.key for one in self.found), *self.keys])
        return Links(tuple(keys), tuple(told), read, tuple(self.written), tuple(self.respelled))


def is_misspelled(typed: str, name: str) -> bool:
    """Return True if a typed word is a name with slips: one a word, two in words of nine letters or more
    that end alike, since another ending makes another word."""
    words, others = typed.split(), name.split()
    if len(words) != len(others):
        return OSA.distance(typed, name) <= 2
    for word, other in zip(words, others, strict=True):
        most = 2 if len(word) >= SLIPS and word[-1] == other[-1] else 1
        if OSA.distance(word, other) > most:
            return False
    return True


def _capitals(text: str) -> bool:
    """Return True if a text is typed with capitals."""
    return any(letter.isupper() for letter in text[1:])


def _bare(typed: str) -> str:
    """Return a name without the ending of its genitive."""
    return typed.removesuffix("'s").removesuffix("\u2019s")


def bare_name(typed: str) -> str:
    """Return a name without its article and the ending of its genitive."""
    return _DETERMINER.sub("", _bare(typed))


_NAMES: WeakKeyDictionary[Graph, dict[tuple[tuple[str, str], ...], Names]] = WeakKeyDictionary()
_STATES = 2  # of the edits of a graph whose names are kept: as they are now, and without edits


def names_of(graph: Graph, merged: Mapping[str, str] | None = None) -> Names:
    """Return the names of a graph; kept for each graph in memory and two states of its edits."""
    wanted = dict(merged or {})
    kept, state = _NAMES.setdefault(graph, {}), tuple(sorted(wanted.items()))
    if state not in kept:
        if len(kept) == _STATES:
            kept.pop(next(iter(kept)), None)
        kept[state] = Names(graph, wanted, columns_of(graph))
    return kept[state]


def entities_named(graph: Graph, names: Iterable[str]) -> dict[str, str]:
    """Return the id of the entity that each name means in a graph; without those it does not know.

    A name means the entity of its canonical form. No other name replaces an unknown one.
    """
    known = names_of(graph)
    ids = {name: node_id("entity", key) for name in names if (key := known.get(canonical(name)))}
    return {name: key for name, key in ids.items() if key in graph.row}


def named_in(doc: "Doc") -> Iterator[Named]:
    """Yield named entities and other proper nouns, without numbers and dates."""
    blocked = {token.i for entity in doc.ents for token in entity}
    spans = [entity for entity in doc.ents if entity.label_ in TYPES]
    for span in [*spans, *(run for part in doc.sents for run in proper_runs(part, blocked))]:
        if canonical(span.text):
            yield Named(span.text, span.start_char, span.end_char, span.label_)
