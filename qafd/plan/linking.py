"""The names that a question has, linked to the entities of a graph."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise, product
from typing import NamedTuple
from weakref import WeakKeyDictionary

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from qafd.graph import Graph
from qafd.plan.name_columns import NameColumns, columns_of, without_mark
from qafd.plan.question import Phrase, QuestionParse
from qafd.plan.spelling import Vocabulary, common_words, right_word
from qafd.reading.names.tagger import is_in_dictionary
from qafd.reading.text import NameIndex, as_typed, canonical, singular, variants, words_of
from qafd.reading.text.scripts import bears_no_capital, is_other, is_written_small
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Vectors, node_id

WRONG = 0.15  # share of letters up to which a name of several words is another one misspelled
LONG = 6  # letters that a single word must have
SLIPS = 9  # letters from which a word may have two slips, else one
NEAREST = 0.8  # cosine from which a name stands for one that the graph does not know
SHORTEST = 3  # letters of a word that means a longer name with it, or ought to be a name
TOLD = 4  # unknown names of a question, or meanings of a word, that are told one by one

_DETERMINER = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


class FoundName(NamedTuple):
    """The key of an entity, and where a text names it."""

    key: str
    start: int
    end: int


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
        self._typed = {as_typed(name): self._merged[name] for name in sorted(self._merged)}
        self._indexed: tuple[str, NameIndex] | None = None

    def __len__(self) -> int:
        return len(self._columns.rows)

    def _is_key(self, name: str) -> bool:
        return self._columns.keys.find(name) is not None

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

    def find(self, asked: str, common: Collection[str]) -> list[FoundName]:
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
        return [one for one in found if not is_written_small(self.show(one.key))] or found

    def candidates(self, name: str, vector: Callable[[], Vectors], ways: Collection[Way] = tuple(Way)
                   ) -> Iterator[NameLink]:
        """Yield the entities that a name may mean, the best first.

        It is the name as typed, a word of up to four longer names where it has a
        capital, the name spelled most alike (see `alike`), or, of two words or more, the one whose vector
        is nearest to `vector`, shape (d,), which is asked for only then.
        """
        key = canonical(name)
        if Way.TYPED in ways and (known := self.get(key)):
            yield NameLink(known, Way.TYPED)
        if Way.WORD in ways and name[0].isupper() and len(bearers := self.bearers(key)) <= TOLD:
            yield from (NameLink(bearer, Way.WORD) for bearer in bearers)
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
        """Return the keys of the entities whose names begin or end with a word, as "Pavel Novak" with
        "Pavel".

        A word of the dictionary finds none.
        """
        typed = as_typed(word)
        if " " in typed or len(typed) < SHORTEST or is_in_dictionary(typed):
            return []
        names = [self._columns.typed[at] for at in self._columns.typed.having(typed)]
        found: dict[str, None] = {}
        for name in (*names, *self._typed):
            words = name.split(" ")
            if len(words) > 1 and typed in (words[0], words[-1]):
                found[self._mean(name) or ""] = None
        return list(found)

    def alike(self, key: str) -> str:
        """Return the key of the entity whose name differs from a canonical one in the fewest letters.

        It is "" if no name is similar enough (`is_misspelled`), or if several differ as little.

        There is none for one word that is short or a common English one.
        """
        typed = as_typed(key)
        several = " " in typed
        if not several and (len(typed) < LONG or not typed.isalpha() or typed in common_words()):
            return ""
        most = int(WRONG * len(typed)) if several else 2
        column = self._columns.typed
        known = [*column.pick(column.near(typed, most)), *self._typed]
        found: dict[str, int] = {}
        for name, slips, _ in extract(typed, known, scorer=OSA.distance, score_cutoff=most, limit=None):
            if slips == min(found.values(), default=slips) and is_misspelled(typed, name):
                found[self._mean(name) or ""] = slips
        return found.popitem()[0] if len(found) == 1 else ""

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


@dataclass
class Links:
    """The names of a question as keys of entities, and notices for people.

    `found` are the names in it, `others` the keys of entities that it names in another way, `written` its
    writing of those that are not spelled alike, each with its key. `told` are notices of names and
    `respelled` those of other words, `right` the words that replace misspelled ones, by place.
    """

    parse: QuestionParse
    names: Names
    found: list[FoundName]
    vocabulary: Vocabulary | None = None
    others: dict[str, None] = field(default_factory=dict)
    told: list[Notice] = field(default_factory=list)
    respelled: list[Notice] = field(default_factory=list)
    right: dict[tuple[int, int], str] = field(default_factory=dict)
    written: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all entities that the question names."""
        return tuple(dict.fromkeys([*(one.key for one in self.found), *self.others]))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The notices about names: the first `TOLD`, and the number of the others."""
        left = len(self.told) - TOLD
        more = [notice(NoticeKind.MORE_UNKNOWN, count=left)] if left > 0 else []
        return (*self.told[:TOLD], *more)

    @property
    def read(self) -> str:
        """The question with misspelled words put right."""
        read = self.parse.text
        for (start, end), word in sorted(self.right.items(), reverse=True):
            read = read[:start] + word + read[end:]
        return read

    def link_name(self, phrase: Phrase, embed: Callable[[str], Vectors]) -> None:
        """Link a name to the best candidate; if it contains known names, only to a misspelled one."""
        text, start, end = phrase
        parts = [one for one in self.found if start < one.end and one.start < end]
        known = self.names.get(canonical(text)) is not None
        if parts and (known or any(one.start <= start and end <= one.end for one in parts)):
            return
        links = self.names.candidates(text, lambda: embed(text), {Way.SLIP} if parts else tuple(Way))
        best = next(links, None)
        if best is None:
            self._tell_unknown(phrase, parts)
            return
        self.found = [one for one in self.found if one not in parts]
        if best.way == Way.WORD:
            bearers = [best.key, *(one.key for one in links if one.way == Way.WORD)]
            self._shorten(bare_name(text), bearers)
        elif best.way == Way.TYPED:
            self.others[best.key] = None
            if not known:
                self.written[bare_name(text), best.key] = None
        else:
            self._replace(phrase, best)

    def link_word(self, phrase: Phrase, vocabulary: Vocabulary) -> None:
        """Link a word that no passage has to the name that it misspells, or correct it to another word."""
        word, start, end = phrase
        typed = self.parse.text[start:end]
        key = self.names.alike(word)
        spread = vocabulary.spread if self.parse.is_english and typed.islower() else None
        if key in self.others or not (key or spread) or vocabulary.heard(word):
            return
        if key:
            self._replace(Phrase(typed, start, end), NameLink(key, Way.SLIP))
            self.found = [one for one in self.found if not is_written_small(self.names.show(one.key))]
        elif spread and (right := right_word(typed, spread)):
            self.respelled.append(notice(NoticeKind.WORD_ALIKE, name=typed, other=right))
            self.right[start, end] = right

    def _tell_unknown(self, phrase: Phrase, parts: Sequence[FoundName]) -> None:
        """Record that no document mentions a name, or only a part of it; single words may not be names."""
        name = _bare(phrase.text)
        if self.vocabulary and self.vocabulary.heard(f'"{name}"'):
            return
        known = [self.parse.text[part.start:part.end] for part in parts]
        strange = [word for word in set(name.split()).difference(" ".join(known).split())
                   if len(word) >= SHORTEST and not word.islower() and not is_in_dictionary(word.lower())]
        if not parts and (" " in name or strange):
            self.told.append(notice(NoticeKind.NAME_UNKNOWN, name=name))
        elif parts and strange:
            self.told.append(notice(NoticeKind.NAME_IN_PART, name=name, part=known[0]))

    def _shorten(self, typed: str, bearers: Sequence[str]) -> None:
        """Replace one word of a name by its only bearer, or report the candidates.

        A bearer all of whose other words are in the dictionary, as "Pavel Bridge", is only reported.
        """
        others = set(as_typed(bearers[0]).split(" ")) - {as_typed(canonical(typed))}
        shown = ", ".join(map(self.names.show, bearers))
        if len(bearers) == 1 and not all(map(is_in_dictionary, others)):
            self.others[bearers[0]] = self.written[typed, bearers[0]] = None
            self.told.append(notice(NoticeKind.NAME_SHORT, name=typed, other=shown))
        else:
            self.told.append(notice(NoticeKind.NAME_SHARED, name=typed, names=shown))

    def _replace(self, phrase: Phrase, link: NameLink) -> None:
        """Replace a name by an entity, once: spelled alike, or near it."""
        if link.key in self.others:
            return
        self.others[link.key] = None
        name, typed = self.names.show(link.key), _bare(phrase.text)
        if link.near is None:
            self.told.append(notice(NoticeKind.NAME_ALIKE, name=typed, other=name))
            if not _DETERMINER.match(typed):
                name = _DETERMINER.sub("", name)
            self.right[phrase.start, phrase.start + len(typed)] = (
                name if _capitals(self.parse.text) else name.lower())
        else:
            self.written[bare_name(typed), link.key] = None
            self.told.append(notice(NoticeKind.NAME_NEAR, name=typed, other=name, similarity=link.near))


def link_names(parse: QuestionParse, names: Names, found: Sequence[FoundName],
               embed: Callable[[str], Vectors], vocabulary: Vocabulary | None = None) -> Links:
    """Return the entities that a question names or means, given the names `found` in it.

    Parameters
    ----------
    embed : callable
        The vector of a name that the graph does not have, shape (d,).
    vocabulary : Vocabulary, optional
        Where it is known, a word of the question that no passage has means the name that
        it is by a slip, taken for a name or not; another one in small letters is read as the
        known word that is one slip away (`qafd.plan.spelling.right_word`).
    """
    links = Links(parse, names, list(found), vocabulary)
    for phrase in parse.named:
        if not parse.common.issuperset(canonical(phrase.text).split()):
            links.link_name(phrase, embed)
    if vocabulary:
        taken = [(start, end) for _, start, end in (*links.found, *parse.named)] + list(links.right)
        for word, start, end in words_of(parse.text):
            free = not any(start < last and first < end for first, last in taken)
            if free and word not in parse.common:
                links.link_word(Phrase(word, start, end), vocabulary)
    return links


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
