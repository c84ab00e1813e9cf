"""Text: its length, its passages, canonical names and their places."""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import groupby

from semantic_text_splitter import TextSplitter

from qafd.reading.text.scripts import (
    bears_no_capital,
    form_of,
    found_words,
    inside_word,
    is_other,
    plain,
    without_clitic,
)
from qafd.records import Chunk, Document, Mark, mark_at

EMOJI = "".join(map(chr, (*range(0x2190, 0x2200), *range(0x2300, 0x2c00), *range(0x1f000, 0x1fb00),
                         0xa9, 0xae, 0x2122, 0x200d, 0xfe0f)))
"""Pictures and signs, which are no part of the name they stand beside; those of mathematics are."""

PASSAGE_TOKENS = 256
WINDOW = 16  # passages that are cut at a time
REMEMBERED = 1 << 16  # words and names whose spelling is remembered, some 10 MB each
LONGEST_WORD = 40  # longer runs of letters are no words; they are cut like text

_AROUND = "\u2022\u2023 \"'`\u201c\u201d\u2018,;:!?*_-\u2013\u2014/\\|<>=#~、。《》「」『』【】〈〉・·"
_PIECE = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+|\S")
_WORD = re.compile(r"\w+(?:[.'\u2019&\-]\w+)*\.?", re.UNICODE)
_DETERMINER = re.compile(r"^(?:the|an?|this|that|these|those|its|his|her|their|our|my|your)\s+")
_POSSESSIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$")
_COMPANY = re.compile(
    r"(?<=\w),?\s+(?:inc|incorporated|corp|corporation|co|company|ltd|limited|llc|plc|gmbh|ag)\.?$")
_QUALIFIER = re.compile(r"(?<=\S)\s+\([^()]*\)$")
_WIDE = {chr(code): chr(code - 0xfee0) for code in range(0xff01, 0xff5f)}
_TYPED = _WIDE | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | dict.fromkeys(
    "\u2018\u2019\u02bc`\u00b4", "'")
_DOTTED = re.compile(r"(?:\w\.)+\w\.?")


def count_tokens(text: str) -> int:
    """Estimate the word pieces of a text without a tokenizer.

    0.9 to 1.2 times the bundled model's own count on nine English passages of ten; scripts
    other than Latin count one piece a character.
    """
    pieces = _PIECE.findall(text)
    long = [len(piece) for piece in pieces if len(piece) >= 8]
    return len(pieces) + sum(1 if size <= LONGEST_WORD else size // 8 - 1 for size in long)


def title_of_file(name: str) -> str:
    """Return the title of a file that states none: its name without folders and ending."""
    stem = re.sub(r"\.\w{1,8}$", "", name.rsplit("/", 1)[-1])
    return " ".join(re.sub(r"[_\-+]+", " ", stem).split())


def chunk(document: Document, tokens: int = PASSAGE_TOKENS) -> tuple[Chunk, ...]:
    """Return the passages of a document: semantic units of at most about `tokens` tokens.

    A document that fits is one passage. Longer ones are cut under their headings where
    that does not make crumbs, then at paragraphs, sentences and words.
    """
    return passages(document, cut(document, tokens))


def cut(document: Document, tokens: int = PASSAGE_TOKENS) -> list[tuple[int, int]]:
    """Return the places of the passages of `chunk` in the text; this is the slow part of it."""
    marks = sorted(document.marks, key=lambda mark: mark.start)
    spans = []
    for start, text in _pieces(document.text, marks, tokens):
        end = start + len(text)
        title, _, rest = text.partition("\n\n")
        if title.strip() == document.title and rest.strip():
            # The title goes before the text of every passage; here it would stand twice.
            start = end - len(rest.lstrip())
        spans.append((start, end))
    return spans


def passages(document: Document, spans: Iterable[tuple[int, int]]) -> tuple[Chunk, ...]:
    """Return the passages that stand at these places of a document."""
    chunks = []
    seen: Counter[str] = Counter()
    marks = sorted(document.marks, key=lambda mark: mark.start)
    for start, end in spans:
        text = document.text[start:end]
        # A heading line that opens the passage is already above it.
        here = mark_at(marks, start)
        chunks.append(Chunk(
            id=_digest(document.name, text, seen[text]), document=document.name,
            title=document.title, text=text, start=start, end=end, page=here.page,
            heading=here.heading))
        seen[text] += 1
    return tuple(chunks)


def passage_names(chunks: Iterable[Chunk]) -> dict[str, str]:
    """Return by chunk id a name for people, unique among the passages of a document.

    It is the title with the page, else the heading, else both, where no other passage of the
    document has the same; else with which part of the document it is.

    Parameters
    ----------
    chunks : iterable of Chunk
        All passages of some documents, in order.
    """
    found: dict[str, str] = {}
    for _, parts in groupby(chunks, key=lambda one: one.document):
        some = list(parts)
        places = [_places(one) for one in some]
        taken: Counter[str] = Counter()
        for ways in places:
            taken.update(set(ways) - {""})
        for part, (one, ways) in enumerate(zip(some, places, strict=True), 1):
            only = next((place for place in ways if taken[place] == 1), f"{ways[0]}, part {part}")
            found[one.id] = _short(one.title or one.document, 44) + only
    return found


def _places(one: Chunk) -> tuple[str, str, str]:
    """Return ways to name the place of a passage, "" if it has none."""
    page = f", page {one.page}" if one.page is not None else ""
    own = one.heading and one.heading != one.title
    heading = f" · {_short(one.heading, 24)}" if own else ""
    return page, heading, page + heading


def _short(text: str, longest: int) -> str:
    # Names are cut where they are shown, and what tells them apart stands at the end.
    return text if len(text) <= longest else text[:longest - 1].rstrip() + "…"


@lru_cache(REMEMBERED)
def canonical(name: str) -> str:
    """Return the key that decides which entity a name is; "" when nothing is left of it.

    Case, determiner, possessive, company suffix and a qualifier in brackets fall away
    ("Apple Inc." and "Apple (fruit)" are both "apple"), dots of acronyms stay.
    """
    key = unicodedata.normalize("NFKC", name).casefold().replace("\u2019", "'")
    key = " ".join(key.split()).strip(_AROUND if key.isascii() else _AROUND + EMOJI)
    key = _QUALIFIER.sub("", key)
    key = _DETERMINER.sub("", key)
    key = _POSSESSIVE.sub("", key)
    key = _COMPANY.sub("", key)
    if key.endswith(".") and not _DOTTED.fullmatch(key.rsplit(" ", 1)[-1]):
        key = key.rstrip(".")
    if key.count("(") != key.count(")"):
        key = key.replace("(", " ").replace(")", " ")
    return " ".join(key.split())


def singular(key: str) -> str:
    """Return a canonical name without the plural of its last word."""
    if key.endswith("ies"):
        return f"{key[:-3]}y"
    return key[:-1] if key.endswith("s") and not key.endswith("ss") else key


def words_in_tree(key: str) -> list[str]:
    """Return the words that a name is looked for by, none where it is too short to be."""
    words = [form_of(word) for word, _, _ in words_of(key)]
    if len(words) == 1 and len(words[0]) < 2 + (not "\u30a1" <= words[0][0] <= "\u30ff"):
        return []
    return words


class _NameBranch:
    """A node of the tree of names: the words that may follow and the name that ends here."""

    __slots__ = ("key", "next")

    def __init__(self) -> None:
        self.key = ""
        self.next: dict[str, _NameBranch] = {}


def as_typed(text: str) -> str:
    """Return the text as a plain keyboard has it, as long as before: no accents, one dash, one quote."""
    if text.isascii():
        return text.replace("`", "'")
    return "".join(map(_typed_letter, text))


@cache
def _typed_letter(letter: str) -> str:
    if "\u3041" <= letter <= "\u30ff":  # the marks of kana make other letters
        return letter
    base = [c for c in unicodedata.normalize("NFD", letter) if not unicodedata.combining(c)]
    return _TYPED.get(letter, base[0] if len(base) == 1 else letter)


class NameIndex:
    """All known names, found in a text by longest match.

    A name of one word counts only where it has a capital that opens no sentence, and three
    letters or more: "Will" must not link every "will", but "iOS" is always itself. Scripts without
    spaces or capitals are read by `qafd.reading.text.scripts`, and Russian names in all their cases.

    Parameters
    ----------
    keys : iterable of str
        Canonical names.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._tree: _NameBranch = _NameBranch()
        for key in keys:
            words = words_in_tree(key)
            if not words:
                continue
            branch = self._tree
            for word in words:
                branch = branch.next.setdefault(word, _NameBranch())
            branch.key = min(key, branch.key or key)

    def find(
        self, text: str, sentence_starts: Iterable[int] = (), anyhow: bool = False,
        plural: bool = False,
    ) -> Iterator[tuple[str, int, int]]:
        """Yield (key, start, end) of the names in a text, leftmost longest, not overlapping.

        Parameters
        ----------
        sentence_starts : iterable of int
            Offsets at which a capital letter is no sign of a name.
        anyhow : bool
            Whether a single word counts without its capital too, as questions are typed.
        plural : bool
            Whether a word of a name may stand in the plural.
        """
        starts = set(sentence_starts)
        words = list(words_of(text))
        other = is_other(text)
        if other:
            words = list(map(self._as_known, words))
        at = 0
        while at < len(words):
            branch, key, last = self._tree, "", at
            for ahead in range(at, len(words)):
                step = branch.next.get(words[ahead][0])
                if step is None and plural:
                    step = branch.next.get(singular(words[ahead][0]))
                if step is None:
                    break
                branch = step
                if branch.key and (ahead > at or anyhow or _is_capitalized(
                        text[words[at][1]:words[at][2]], words[at][1] in starts)):
                    key, last = branch.key, ahead
            if key and not (other and inside_word(text, words[at][1])):
                yield key, words[at][1], words[last][2]
                at = last + 1
            else:
                at += 1

    def _as_known(self, found: tuple[str, int, int]) -> tuple[str, int, int]:
        """Return a word in the form that names have in the tree."""
        word, start, end = found
        bare = without_clitic(word)
        if bare in self._tree.next and word not in self._tree.next:
            return bare, end - len(bare), end
        return form_of(word), start, end


def words_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (word, start, end), casefolded, without possessive and final dot.

    A letter of a script without spaces is a word, see `qafd.reading.text.scripts`.
    """
    for found in found_words(text) if is_other(text) else _WORD.finditer(text):
        word, length = _spell(found.group())
        if word:  # a mark alone is none
            start = found.start()
            yield word, start, start + length


@lru_cache(REMEMBERED)
def _spell(raw: str) -> tuple[str, int]:
    """Return a word of a text as names have it, and how many of its letters these are."""
    word = _POSSESSIVE.sub("", raw)
    if word.endswith(".") and not _DOTTED.fullmatch(word):
        word = word[:-1]
    # as in canonical names, where "CO₂" is "co2"
    return word.casefold() if word.isascii() else plain(word), len(word)


def variants(word: str, text: str) -> set[str]:
    """Return the forms in which a word of a text may be looked for among names."""
    if not is_other(text):
        return {word}
    return {word, form_of(word), without_clitic(word)} - {""}


def forms_of(text: str) -> set[str]:
    """Return all words of a text, in each form that `variants` gives."""
    words = {word for word, _, _ in words_of(text)}
    return set().union(*(variants(word, text) for word in words)) if is_other(text) else words


def _is_capitalized(word: str, opening: bool) -> bool:
    """Return True if a capital makes the word a name; the first letter of a sentence does not count."""
    return any(letter.isupper() for letter in word[opening:]) or bears_no_capital(word)


def _pieces(text: str, marks: list[Mark], tokens: int) -> Iterator[tuple[int, str]]:
    """Yield (offset, stripped text) of the passages."""
    total = count_tokens(text)
    if total <= tokens:
        yield from _strip(text, 0)
        return
    # The splitter counts characters, which is fast. Whole characters per token, so that an
    # edit does not move the cuts of the passages it leaves alone.
    size = tokens * max(1, len(text) // total)
    splitter = TextSplitter((max(1, size * 3 // 4), size))
    for start, end in _sections(text, marks, size):
        if end - start <= size:
            yield from _strip(text[start:end], start)
            continue
        if _PIECE.fullmatch(text, start, end):  # one endless word, on which the splitter is slow
            yield from ((at, text[at:min(at + size, end)]) for at in range(start, end, size))
            continue
        for offset, piece in _split(splitter, text, start, end, WINDOW * size):
            yield from _strip(piece, offset)


def _split(splitter: TextSplitter, text: str, start: int, end: int, window: int
           ) -> Iterator[tuple[int, str]]:
    """Yield the splitter's pieces of `text[start:end]`, whose time would grow with its square.

    It cuts from left to right, so all pieces of a window but the last are those of the whole.
    """
    while start < end:
        found = splitter.chunk_indices(text[start:min(start + window, end)])
        whole = start + window >= end or len(found) < 2
        for offset, piece in found if whole else found[:-1]:
            yield start + offset, piece
        start += window if whole else found[-1][0]


def _sections(text: str, marks: list[Mark], size: int) -> Iterator[tuple[int, int]]:
    """Yield spans between headings; short sections stay together while they fit a passage."""
    cuts = [0]
    heading = marks[0].heading if marks and marks[0].start == 0 else ""
    for mark in marks:
        if mark.heading != heading and 0 < mark.start < len(text):
            cuts.append(mark.start)
        heading = mark.heading
    cuts.append(len(text))
    start = 0
    for end, following in zip(cuts[1:], [*cuts[2:], None], strict=True):
        if following is None or following - start > size:
            yield start, end
            start = end


def _strip(piece: str, offset: int) -> Iterator[tuple[int, str]]:
    body = piece.strip()
    if body:
        yield offset + len(piece) - len(piece.lstrip()), body


def _digest(document: str, text: str, before: int) -> str:
    content = json.dumps([document, text, before], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:24]
