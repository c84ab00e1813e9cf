"""The names that a question has, linked to the entities of a graph."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from tokenizers import Tokenizer

from qafd.graph import Graph
from qafd.models.embedder import TOKENIZER_FILE, checked_file
from qafd.reading.names import TYPES, proper_runs
from qafd.reading.text import NameIndex, as_typed, canonical, words_of
from qafd.reading.text.scripts import bears_no_capital, is_written_small
from qafd.reading.text.slips import slips_between
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Nodes, Vectors, node_id

if TYPE_CHECKING:
    from spacy.tokens import Doc

ALIKE = 0.85  # share of letters from which a name of several words is another one misspelled
ALIKE_WORD, LONG = 0.88, 6  # and one of a single word, which must have so many letters
SLIPS = 9  # letters from which a word may have two slips, else one
NEAREST = 0.8  # cosine from which a name stands for one that the graph does not know
SOUGHT = TYPES - {"NORP", "LANGUAGE"}  # single words of these types ought to be names
TOLD = 4  # unknown names of a question that are told one by one

_MARK = re.compile(r"(?<=\S) \[[^\[\]]+\]$")  # by which an imported graph tells nodes of one name apart
_REGION = re.compile(r"(?<=\w)-[A-Z]{2}$")  # of a language tag such as en-GB

Found = tuple[str, int, int]
"""The key of an entity and where the question names it."""


@dataclass(frozen=True)
class Named:
    """What is taken for a name at `start:end` of a question, and what kind of name it is."""

    text: str
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Links:
    """What the names of a question are in a graph: keys of entities, and what people should know.

    `keys` are those found and the stand-ins; `read` is the question with the names that are spelled
    alike in the place of misspelled ones.
    """

    keys: tuple[str, ...]
    notices: tuple[Notice, ...]
    read: str


class Names:
    """The entities of a graph by their names.

    Parameters
    ----------
    graph : Graph
    merged : mapping of str to str, optional
        Keys of names that are another entity's by an edit, to the key of that entity.
    """

    def __init__(self, graph: Graph, merged: Mapping[str, str] | None = None) -> None:
        self._graph = graph
        self._rows: Nodes = np.flatnonzero(graph.kinds == "entity")
        keys = {canonical(graph.names[row]): graph.names[row] for row in self._rows.tolist()}
        self._exact = {name: key for name, key in (merged or {}).items() if key in keys}
        self._exact |= {key: key for key in keys}
        # Of names that are typed alike, the last one in the order of the alphabet.
        self._typed = {as_typed(name): self._exact[name] for name in sorted(self._exact)}
        self._namesakes = _group_namesakes(keys)
        marked = {name: found[0] for name, found in self._namesakes.items()}
        self._typed = (_places_left_out(self._typed) | _regions_left_out(keys) | marked
                       | self._typed)
        self._index = NameIndex(self._typed)
        self._shown = keys

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, name: str) -> str | None:
        """The key of the entity that a canonical name means, with other accents and dashes too."""
        return self._exact.get(name) or self._typed.get(as_typed(name))

    def namesakes(self, key: str) -> tuple[str, ...]:
        """The keys of the other entities that an imported graph calls as it calls this one."""
        together = self._namesakes.get(as_typed(_MARK.sub("", key)), ())
        return tuple(one for one in together if one != key)

    def is_title(self, key: str) -> bool:
        """Whether an entity's name begins with an article in capitals: "The Graduate"."""
        return self._shown.get(key, "").startswith(("The ", "An ", "A "))

    def find(self, asked: str, common: set[str]) -> list[Found]:
        """Names in a text by longest match; lower-case terms only when there is nothing else.

        Accents and dashes do not matter. In a text typed without capitals single words count as
        well, but for the `common` ones.
        """
        capitals = _capitals(asked)
        found = [
            (key, start, end) for key, start, end in self._matches(asked)
            if " " in key or (key not in common and (
                not capitals or any(letter.isupper() or bears_no_capital(letter)
                                    for letter in asked[start:end])))]
        return [one for one in found if not self._is_term(one[0])] or found

    def stand_in(self, key: str, vector: Vectors) -> tuple[str, float | None]:
        """The key of the entity that stands for an unknown name, "" for none, and how near it is.

        It is the one spelled most alike, by Ratcliff and Obershelp's share of letters in common,
        or else the one whose name's vector is nearest to that of the unknown one, shape (d,); by
        its vector only a name of two words or more has one.
        """
        if alike := self.alike(key):
            return alike, None
        vectors = self._graph.name_vectors
        if " " not in key or vectors is None or not len(self):
            return "", None
        cosines = (vectors @ vector)[self._rows]  # picking first would copy them
        best = int(cosines.argmax())
        if cosines[best] < NEAREST:
            return "", None
        return canonical(self._graph.names[self._rows[best]]), float(cosines[best])

    def alike(self, key: str) -> str:
        """The key of the entity whose name is spelled most like a canonical one, "" for none.

        A word may have as many slips as `is_misspelled` says: a compressor is no compression.
        """
        typed, one = as_typed(key), " " not in key
        if one and len(key) < LONG:
            return ""
        least = ALIKE_WORD if one else ALIKE
        names, lengths, letters = self._spelled
        most = 2 * np.minimum(letters, _letters([typed])).sum(axis=1) / (lengths + len(typed))
        close = get_close_matches(
            typed, [names[i] for i in np.flatnonzero(most >= least).tolist()], 1, least)
        return self._typed[close[0]] if close and is_misspelled(typed, close[0]) else ""

    def slipped(self, word: str) -> str:
        """The key of the one-word name that a word is by a slip of the keyboard, "" for none.

        A slip leaves a letter out, puts one in, changes one or exchanges two; words of nine letters
        or more may have two. Several names with the fewest slips are none, and neither is there
        one for a word of fewer than six letters or a common English one.
        """
        typed = as_typed(word)
        if len(typed) < LONG or " " in typed or not typed.isalpha() or typed in _common_words():
            return ""
        most = 2 if len(typed) >= SLIPS else 1
        names, lengths, letters = self._spelled
        near = (np.abs(lengths - len(typed)) <= most) & (
            np.abs(letters - _letters([typed])).sum(axis=1) <= 2 * most)
        slips = {names[i]: slips_between(typed, names[i]) for i in np.flatnonzero(near).tolist()
                 if " " not in names[i] and len(names[i]) >= LONG - 1}
        least = min(slips.values(), default=0)
        found = {self._typed[name] for name, many in slips.items() if many == least}
        return found.pop() if 0 < least <= most and len(found) == 1 else ""

    @cached_property
    def _spelled(self) -> tuple[list[str], Nodes, Nodes]:
        """The names as typed, their lengths (k,) and letters (k, 27): they bound how alike two are
        without comparing them."""
        names = list(self._typed)
        return names, np.array([len(name) for name in names], np.int64), _letters(names)

    def link(self, asked: str, named: Sequence[Named], found: Sequence[Found],
             vectors: Mapping[str, Vectors], common: set[str],
             heard: Callable[[str], bool] | None = None) -> Links:
        """The entities that a question names or means, given what was found in it.

        Parameters
        ----------
        named : sequence of Named
            What a tagger takes for names, see `named_in`.
        vectors : mapping of str to ndarray, shape (d,)
            Of the canonical form of each.
        common : set of str
            Words that begin and end no name.
        heard : callable, optional
            Whether a word is in a passage. Where it is known, a word of the question that is in
            none stands for the name that it is by a slip (`slipped`), taken for a name or not.
        """
        links = _Links(asked, self._shown, list(found))
        for span in named:
            self._link_span(links, span, vectors, heard)
        self._link_unheard(links, named, common, heard)
        if not links.found and not _capitals(asked):
            for start, typed, key in self._in_passing(asked, common):
                links.replace(start, typed, key)
        return links.finish()

    def _link_span(self, links: "_Links", span: Named, vectors: Mapping[str, Vectors],
                   heard: Callable[[str], bool] | None) -> None:
        """Link what a tagger takes for a name, unless a known name has all of it."""
        key = canonical(span.text)
        parts = [one for one in links.found if span.start < one[2] and one[1] < span.end]
        known = self.get(key)
        if known and not parts:
            links.keys[known] = None
        if known or any(start <= span.start and span.end <= end for _, start, end in parts):
            return
        other, near = (self.alike(key), None) if parts else self.stand_in(key, vectors[key])
        other = other or self._unheard(key, heard)
        if other:
            links.found = [one for one in links.found if one not in parts]
            links.replace(span.start, span.text, other, near)
        elif parts and span.kind == "PERSON":
            _, start, end = parts[0]
            links.told.append(notice(NoticeKind.NAME_IN_PART, name=_bare(span.text),
                                     part=links.asked[start:end]))
        elif not parts and _is_worth_saying(key, span.kind):
            links.told.append(notice(NoticeKind.NAME_UNKNOWN, name=_bare(span.text)))

    def _link_unheard(self, links: "_Links", named: Sequence[Named], common: set[str],
                      heard: Callable[[str], bool] | None) -> None:
        """Link the words outside of names that no passage has and that are names by a slip."""
        taken = [(start, end) for _, start, end in links.found]
        taken += [*links.right, *((span.start, span.end) for span in named)]
        for word, start, end in words_of(links.asked):
            if word in common or any(start < b and a < end for a, b in taken):
                continue
            key = self._unheard(word, heard)
            if key and key not in links.keys:
                links.replace(start, links.asked[start:end], key)
                links.found = [one for one in links.found if not self._is_term(one[0])]

    def _unheard(self, word: str, heard: Callable[[str], bool] | None) -> str:
        """The key of the name that a word which is in no passage is by a slip, "" for none."""
        key = self.slipped(word) if heard else ""
        return key if heard and key and not heard(word) else ""

    def _in_passing(self, asked: str, common: set[str]) -> Iterator[tuple[int, str, str]]:
        """Where something is typed, what, and the key it is alike to, where capitals tell a tagger
        nothing."""
        words = list(words_of(asked))
        at = 0
        while at + 1 < len(words):
            for size in (4, 3, 2):
                part = words[at:at + size]
                text = asked[part[0][1]:part[-1][2]]
                if {part[0][0], part[-1][0]}.isdisjoint(common) and (
                        key := self.alike(canonical(text))):
                    yield part[0][1], text, key
                    at += len(part) - 1
                    break
            at += 1

    def _matches(self, text: str) -> Iterator[Found]:
        for typed, start, end in self._index.find(as_typed(text), anyhow=True):
            yield self.get(canonical(text[start:end])) or self._typed[typed], start, end

    def _is_term(self, key: str) -> bool:
        return is_written_small(self._shown[key])


def _is_worth_saying(key: str, kind: str) -> bool:
    """Whether that a name is not known says something of what was asked."""
    return " " in key or (kind in SOUGHT and len(key) > 2)


@dataclass
class _Links:
    """What is linked of a question so far: names found in it, keys that stand for others, what
    people should know, and what is right in the place of misspelled names."""

    asked: str
    shown: Mapping[str, str]
    found: list[Found]
    keys: dict[str, None] = field(default_factory=dict)
    told: list[Notice] = field(default_factory=list)
    right: dict[tuple[int, int], str] = field(default_factory=dict)

    def replace(self, start: int, typed: str, key: str, similarity: float | None = None) -> None:
        """Let an entity stand for what is typed from `start` on, once: spelled alike, or near it."""
        if key in self.keys:
            return
        self.keys[key] = None
        name = self.shown[key]
        typed = _bare(typed)
        if similarity is None:
            self.told.append(notice(NoticeKind.NAME_ALIKE, name=typed, other=name))
            self.right[start, start + len(typed)] = name if _capitals(self.asked) else name.lower()
        else:
            self.told.append(notice(NoticeKind.NAME_NEAR, name=typed, other=name,
                                    similarity=similarity))

    def finish(self) -> Links:
        """The links, with as many unknown names as are told one by one."""
        told = self.told[:TOLD]
        if len(self.told) > TOLD:
            told.append(notice(NoticeKind.MORE_UNKNOWN, count=len(self.told) - TOLD))
        read = self.asked
        for (start, end), name in sorted(self.right.items(), reverse=True):
            read = read[:start] + name + read[end:]
        keys = dict.fromkeys([*(key for key, _, _ in self.found), *self.keys])
        return Links(tuple(keys), tuple(told), read)


def is_misspelled(typed: str, name: str) -> bool:
    """Whether what is typed is a name with slips: one a word, two in words of nine letters or more
    that end alike, since another ending makes another word."""
    words, others = typed.split(), name.split()
    if len(words) != len(others):
        return slips_between(typed, name) <= 2
    for word, other in zip(words, others, strict=True):
        most = 2 if len(word) >= SLIPS and word[-1] == other[-1] else 1
        if slips_between(word, other) > most:
            return False
    return True


@cache
def _common_words() -> frozenset[str]:
    """Words of six letters or more that the bundled model reads in one piece."""
    tokenizer = Tokenizer.from_file(str(checked_file(*TOKENIZER_FILE)))
    return frozenset(word for word in tokenizer.get_vocab() if word.isalpha() and len(word) >= LONG)


def _places_left_out(typed: Mapping[str, str]) -> dict[str, str]:
    """Names before a comma, of two words or more, that only one name begins with: "Grant Park" for
    "Grant Park, Atlanta"."""
    heads = [(head, key) for name, key in typed.items()
             for head, comma, _ in [name.partition(", ")] if comma and " " in head]
    times = Counter(head for head, _ in heads)
    return {head: key for head, key in heads if times[head] == 1}


def _group_namesakes(keys: Iterable[str]) -> dict[str, list[str]]:
    """The keys of entities that differ in their marks alone, ascending, by the name without it."""
    marked = {as_typed(_MARK.sub("", key)) for key in keys if _MARK.search(key)}
    together: dict[str, list[str]] = {}
    for key in sorted(keys):
        name = as_typed(_MARK.sub("", key))
        if name in marked:
            together.setdefault(name, []).append(key)
    return together


def _regions_left_out(shown: Mapping[str, str]) -> dict[str, str]:
    """Names without the tag of a region, "actor" for "Actor-GB", by the canonical keys of names."""
    return {as_typed(key[:-3]): key for key, name in shown.items() if _REGION.search(name)}


def _letters(names: Sequence[str]) -> Nodes:
    """How often each name has each letter from a to z, and other characters, shape (k, 27)."""
    code = np.frombuffer("".join(names).encode("ascii", "replace"), np.uint8).astype(np.int64)
    column = np.where((code >= ord("a")) & (code <= ord("z")), code - ord("a"), 26)
    row = np.repeat(np.arange(len(names)), [len(name) for name in names])
    return np.bincount(27 * row + column, minlength=27 * len(names)).reshape(-1, 27)


def _capitals(text: str) -> bool:
    """Whether a text is typed with capitals."""
    return any(letter.isupper() for letter in text[1:])


def _bare(typed: str) -> str:
    """A name without the ending of its genitive."""
    return typed.removesuffix("'s").removesuffix("\u2019s")


_NAMES: WeakKeyDictionary[Graph, tuple[Mapping[str, str], Names]] = WeakKeyDictionary()


def names_of(graph: Graph, merged: Mapping[str, str] | None = None) -> Names:
    """The names of a graph; read once for each graph in memory and state of its edits."""
    wanted = dict(merged or {})
    kept = _NAMES.get(graph)
    if kept is None or kept[0] != wanted:
        kept = wanted, Names(graph, wanted)
        _NAMES[graph] = kept
    return kept[1]


def entities_named(graph: Graph, names: Iterable[str],
                   merged: Mapping[str, str] | None = None) -> dict[str, str]:
    """The id of the entity that each name means in a graph; without those it does not know.

    A name means what it does in a question: whatever has its canonical form, or what an edit says
    (`merged` as for `Names`). No other name stands in for one that is not there.
    """
    known = names_of(graph, merged)
    ids = {name: node_id("entity", key) for name in names if (key := known.get(canonical(name)))}
    return {name: key for name, key in ids.items() if key in graph.row}


def named_in(doc: "Doc") -> Iterator[Named]:
    """Named entities, and proper nouns that are none; without numbers and dates."""
    blocked = {token.i for entity in doc.ents for token in entity}
    spans = [entity for entity in doc.ents if entity.label_ in TYPES]
    for span in [*spans, *(run for part in doc.sents for run in proper_runs(part, blocked))]:
        if canonical(span.text):
            yield Named(span.text, span.start_char, span.end_char, span.label_)
