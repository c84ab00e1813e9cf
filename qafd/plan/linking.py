"""The names that a question has, linked to the entities of a graph."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache, cached_property
from itertools import pairwise, product
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from qafd.columns import Array, Arrays, TextBlock, flatten, unflatten
from qafd.graph import Graph
from qafd.models.embedder import TOKENIZER_FILE, checked_file
from qafd.reading.names import TYPES, proper_runs
from qafd.reading.text import (
    NameIndex,
    as_typed,
    canonical,
    singular,
    variants,
    words_in_tree,
    words_of,
)
from qafd.reading.text.scripts import bears_no_capital, is_other, is_written_small
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
_DETERMINER = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
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
    alike in the place of misspelled ones; `written` has what it writes for other stand-ins, each
    with its key.
    """

    keys: tuple[str, ...]
    notices: tuple[Notice, ...]
    read: str
    written: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class NameColumns:
    """The names of the entities of a graph, column by column.

    Parameters
    ----------
    rows : ndarray, shape (e,)
        Of the entities in the graph, ascending.
    vectors : ndarray of float32, shape (e, d), or None
        Of their names.
    keys : TextBlock, length k
        Their canonical names, sorted.
    shown : ndarray, shape (k,)
        The row of each.
    typed : TextBlock, length t
        The names as they may be typed, sorted; what several are typed like means the last of them.
    meant : ndarray, shape (t,)
        The place in `keys` of what each means.
    whole : ndarray of bool, shape (t,)
        False for a name of which a region or a place is left out.
    heads, told : TextBlock and ndarray, length h
        What names begin with before a comma, sorted, and how many.
    lengths, letters : ndarray, shapes (t,) and (t, 27)
        How long the typed names are, and how often they have each letter.
    marked, sharing : TextBlock and ndarray, length m
        The names that an imported graph gives several nodes, without what tells these apart, sorted,
        and the places in `keys` of each.
    openings, opened : TextBlock and ndarray, length o
        The first two words of typed names on lines of their own, sorted, and their places in `typed`.
    """

    rows: Nodes = field(repr=False)
    vectors: Vectors | None = field(repr=False)
    keys: TextBlock = field(repr=False)
    shown: Nodes = field(repr=False)
    typed: TextBlock = field(repr=False)
    meant: Nodes = field(repr=False)
    whole: npt.NDArray[np.bool_] = field(repr=False)
    heads: TextBlock = field(repr=False)
    told: Nodes = field(repr=False)
    lengths: Nodes = field(repr=False)
    letters: npt.NDArray[np.uint16] = field(repr=False)
    marked: TextBlock = field(repr=False)
    sharing: Nodes = field(repr=False)
    openings: TextBlock = field(repr=False)
    opened: Nodes = field(repr=False)

    @classmethod
    def build(cls, graph: Graph) -> "NameColumns":
        """The names of a graph."""
        rows: Nodes = np.flatnonzero(graph.kinds == "entity")
        shown = {canonical(graph.names[row]): row for row in rows.tolist()}
        keys = sorted(shown)
        whole = {as_typed(key): key for key in keys}
        known = _places_left_out(whole) | _regions_left_out(
            {key: graph.names[row] for key, row in shown.items()})
        namesakes = _group_namesakes(keys)
        known |= {name: found[0] for name, found in namesakes.items()}
        known |= whole
        typed = sorted(known)
        place = {key: at for at, key in enumerate(keys)}
        heads = sorted(Counter(head for head, _ in _heads_of(whole)).items())
        sharing = [(name, place[key]) for name, found in sorted(namesakes.items()) for key in found]
        openings = sorted((opening, at) for at, name in enumerate(typed)
                          if (opening := _opening(name)))
        return cls(
            rows, None if graph.name_vectors is None else graph.name_vectors[rows], TextBlock.of(keys),
            np.array([shown[key] for key in keys], np.int64), TextBlock.of(typed),
            np.array([place[known[name]] for name in typed], np.int64),
            np.array([name in whole for name in typed], np.bool_),
            TextBlock.of([head for head, _ in heads]), np.array([many for _, many in heads], np.int64),
            np.array([len(name) for name in typed], np.int64), _letters(typed),
            TextBlock.of([name for name, _ in sharing]), np.array([at for _, at in sharing], np.int64),
            TextBlock.of([opening for opening, _ in openings]),
            np.array([at for _, at in openings], np.int64))

    def flatten(self) -> dict[str, Array]:
        """The columns as arrays."""
        return flatten("names", {spec.name: getattr(self, spec.name) for spec in fields(self)})

    @classmethod
    def unflatten(cls, arrays: Arrays) -> "NameColumns":
        """The columns that `flatten` made arrays of."""
        return cls(**{"vectors": None} | unflatten("names", arrays))


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
        """What names that are another entity's change of the typed ones; "" for what is none then."""
        columns, typed = self._columns, dict[str, str]()
        for name in sorted(self._merged):
            form = as_typed(name)
            known = columns.typed.find(form)
            if known is None or not columns.whole[known] or columns.keys[columns.meant[known]] < name:
                typed[form] = self._merged[name]
        fresh = {form: key for form, key in typed.items() if not self._is_whole(form)}
        heads: dict[str, str] = {}
        many = Counter(head for head, _ in _heads_of(fresh))
        for head, key in _heads_of(fresh):
            at = columns.heads.find(head)
            known = columns.typed.find(head)
            if known is None and at is None:
                heads[head] = key if many[head] == 1 else ""
            elif at is not None and columns.told[at] == 1 and self._is_head(head):
                heads[head] = ""
        return heads | typed

    def _is_whole(self, typed: str) -> bool:
        known = self._columns.typed.find(typed)
        return known is not None and bool(self._columns.whole[known])

    def _is_head(self, typed: str) -> bool:
        """Whether a typed name is what one begins with, neither a name nor one without its region."""
        known = self._columns.typed.find(typed)
        if known is None or self._columns.whole[known]:
            return False
        return as_typed(self._columns.keys[self._columns.meant[known]]).startswith(f"{typed}, ")

    def _mean(self, typed: str) -> str | None:
        """The key of what is typed so."""
        if typed in self._typed:
            return self._typed[typed] or None
        known = self._columns.typed.find(typed)
        return None if known is None else self._columns.keys[self._columns.meant[known]]

    def row(self, key: str) -> int | None:
        """The graph row of an entity by its key, None where there is none."""
        place = self._columns.keys.find(key)
        return None if place is None else int(self._columns.shown[place])

    def show(self, key: str) -> str:
        """The name of an entity by its key."""
        place = self._columns.keys.find(key)
        assert place is not None
        return self._names[int(self._columns.shown[place])]

    def get(self, name: str) -> str | None:
        """The key of the entity that a canonical name means, with other accents and dashes too."""
        if self._is_key(name):
            return name
        return self._merged.get(name) or self._mean(as_typed(name))

    def namesakes(self, key: str) -> tuple[str, ...]:
        """The keys of the other entities that an imported graph calls as it calls this one."""
        columns, name = self._columns, as_typed(_MARK.sub("", key))
        found = []
        for at in columns.marked.beginning(name):
            if columns.marked[at] == name:
                found.append(columns.keys[columns.sharing[at]])
        return tuple(one for one in found if one != key)

    def is_title(self, key: str) -> bool:
        """Whether an entity's name begins with an article in capitals: "The Graduate"."""
        return self._is_key(key) and self.show(key).startswith(("The ", "An ", "A "))

    def find(self, asked: str, common: set[str]) -> list[Found]:
        """Names in a text by longest match; lower-case terms only when there is nothing else.

        Accents and dashes do not matter. In a text typed without capitals single words count as
        well, but for the `common` ones.
        """
        capitals = _capitals(asked)
        found = [
            (key, start, end) for key, start, end in self.matches(asked)
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
        vectors, rows = self._columns.vectors, self._columns.rows
        if " " not in key or vectors is None or not len(self):
            return "", None
        cosines = vectors @ vector
        best = int(cosines.argmax())
        if cosines[best] < NEAREST:
            return "", None
        return canonical(self._names[rows[best]]), float(cosines[best])

    def alike(self, key: str) -> str:
        """The key of the entity whose name is spelled most like a canonical one, "" for none.

        A word may have as many slips as `is_misspelled` says: a compressor is no compression.
        """
        typed, one = as_typed(key), " " not in key
        if one and len(key) < LONG:
            return ""
        least = ALIKE_WORD if one else ALIKE
        names, lengths, letters = self._spelled
        shared = np.minimum(letters, _letters([typed])).sum(axis=1, dtype=np.int64)
        most = 2 * shared / (lengths + len(typed))
        close = get_close_matches(
            typed, self._pick(names, np.flatnonzero(most >= least)), 1, least)
        return self._mean(close[0]) or "" if close and is_misspelled(typed, close[0]) else ""

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
        long = np.flatnonzero(np.abs(lengths - len(typed)) <= most)
        other = np.abs(letters[long].astype(np.int64) - _letters([typed])).sum(axis=1)
        slips = {name: slips_between(typed, name)
                 for name in self._pick(names, long[other <= 2 * most])
                 if " " not in name and len(name) >= LONG - 1}
        least = min(slips.values(), default=0)
        found = {self._mean(name) or "" for name, many in slips.items() if many == least}
        return found.pop() if 0 < least <= most and len(found) == 1 else ""

    def _pick(self, names: Sequence[str], places: Nodes) -> list[str]:
        """The names in some places, without what is none by an edit."""
        some = [names[at] for at in places.tolist()]
        return [name for name in some if self._typed.get(name, name)]

    @cached_property
    def _spelled(self) -> tuple[Sequence[str], Nodes, npt.NDArray[np.uint16]]:
        """The names as typed, their lengths (k,) and letters (k, 27): they bound how alike two are
        without comparing them."""
        columns = self._columns
        more = [name for name in self._typed if columns.typed.find(name) is None]
        if not more:
            return columns.typed, columns.lengths, columns.letters
        return ([*columns.typed, *more],
                np.concatenate([columns.lengths, [len(name) for name in more]]),
                np.concatenate([columns.letters, _letters(more)]))

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
        links = _Links(asked, self.show, list(found))
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
        if not parts and (language := self.get(f"{key} language")):
            links.stand(span.text, language)
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

    def matches(self, text: str, plural: bool = False) -> Iterator[Found]:
        """All names in a text by longest match, also in the `plural` if wanted."""
        asked = as_typed(text)
        for typed, start, end in self._index(asked).find(asked, anyhow=True, plural=plural):
            own = canonical(text[start:end])
            # "The Walt Disney Company" is not Walt Disney where the graph has both
            key = self.get(own) if as_typed(own) == typed else None
            key = key or self._mean(typed)
            assert key is not None
            yield key, start, end

    def _index(self, asked: str) -> NameIndex:
        """An index of all names that can be in a text, or decide how it is read; kept for the next
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
        return NameIndex([name for name in names if self._typed.get(name, name)])

    def _is_term(self, key: str) -> bool:
        return is_written_small(self.show(key))


def _is_worth_saying(key: str, kind: str) -> bool:
    """Whether that a name is not known says something of what was asked."""
    return " " in key or (kind in SOUGHT and len(key) > 2)


@dataclass
class _Links:
    """What is linked of a question so far: names found in it, keys that stand for others, what
    people should know, and what is right in the place of misspelled names."""

    asked: str
    show: Callable[[str], str]
    found: list[Found]
    keys: dict[str, None] = field(default_factory=dict)
    told: list[Notice] = field(default_factory=list)
    right: dict[tuple[int, int], str] = field(default_factory=dict)
    written: dict[tuple[str, str], None] = field(default_factory=dict)

    def stand(self, typed: str, key: str) -> None:
        """Let an entity stand for what is typed as it is."""
        self.keys[key] = None
        self.written[_DETERMINER.sub("", _bare(typed)), key] = None

    def replace(self, start: int, typed: str, key: str, similarity: float | None = None) -> None:
        """Let an entity stand for what is typed from `start` on, once: spelled alike, or near it."""
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

    def finish(self) -> Links:
        """The links, with as many unknown names as are told one by one."""
        told = self.told[:TOLD]
        if len(self.told) > TOLD:
            told.append(notice(NoticeKind.MORE_UNKNOWN, count=len(self.told) - TOLD))
        read = self.asked
        for (start, end), name in sorted(self.right.items(), reverse=True):
            read = read[:start] + name + read[end:]
        keys = dict.fromkeys([*(key for key, _, _ in self.found), *self.keys])
        return Links(tuple(keys), tuple(told), read, tuple(self.written))


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


def _heads_of(typed: Mapping[str, str]) -> list[tuple[str, str]]:
    """What names of two words or more begin with before a comma, and what each name means."""
    return [(head, key) for name, key in typed.items()
            for head, comma, _ in [name.partition(", ")] if comma and " " in head]


def _places_left_out(typed: Mapping[str, str]) -> dict[str, str]:
    """Names before a comma, of two words or more, that only one name begins with: "Grant Park" for
    "Grant Park, Atlanta"."""
    heads = _heads_of(typed)
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


def _opening(name: str) -> str:
    """The first two words of a name, each with the end of a line; "" where it is too short to be
    looked for."""
    words = words_in_tree(name)
    return "".join(f"{word}\n" for word in [*words, ""][:2]) if words else ""


def _letters(names: Sequence[str]) -> npt.NDArray[np.uint16]:
    """How often each name has each letter from a to z, and other characters, shape (k, 27)."""
    code = np.frombuffer("".join(names).encode("ascii", "replace"), np.uint8).astype(np.int64)
    column = np.where((code >= ord("a")) & (code <= ord("z")), code - ord("a"), 26)
    row = np.repeat(np.arange(len(names)), [len(name) for name in names])
    times = np.bincount(27 * row + column, minlength=27 * len(names))
    return times.reshape(-1, 27).astype(np.uint16)


def _capitals(text: str) -> bool:
    """Whether a text is typed with capitals."""
    return any(letter.isupper() for letter in text[1:])


def _bare(typed: str) -> str:
    """A name without the ending of its genitive."""
    return typed.removesuffix("'s").removesuffix("\u2019s")


_NAMES: WeakKeyDictionary[Graph, tuple[Mapping[str, str], Names]] = WeakKeyDictionary()
_COLUMNS: WeakKeyDictionary[Graph, NameColumns] = WeakKeyDictionary()


def columns_of(graph: Graph, known: NameColumns | None = None) -> NameColumns:
    """The columns of names of a graph, made once for each graph in memory unless they are known."""
    if graph not in _COLUMNS:
        _COLUMNS[graph] = known or NameColumns.build(graph)
    return _COLUMNS[graph]


def names_of(graph: Graph, merged: Mapping[str, str] | None = None) -> Names:
    """The names of a graph; kept for each graph in memory and state of its edits."""
    wanted = dict(merged or {})
    kept = _NAMES.get(graph)
    if kept is None or kept[0] != wanted:
        kept = wanted, Names(graph, wanted, columns_of(graph))
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
