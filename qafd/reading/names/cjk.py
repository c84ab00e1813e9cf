"""Names in Chinese and Japanese text, read from the parts of speech of a dictionary."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from qafd.reading.names.languages import CHINESE
from qafd.reading.text import as_typed
from qafd.reading.text.scripts import KATAKANA
from qafd.resources import lexicon

PERSON, PLACE, GROUP, WORK, ANY, TERM = "PERSON", "GPE", "ORG", "WORK_OF_ART", "OTHER", "term"
NOUN, VERB = "noun", "verb"
LONG = 4  # letters from which a run of nouns is a term
LONGEST = 14  # letters of a name

_TITLED = re.compile("《([^《》\n]{1,40})》|『([^『』\n]{1,40})』")
_LATIN = re.compile(
    r"[A-Z][\w&.'\u2019\-]*(?: (?:(?:of|the|and|de|von|van) )?[A-Z][\w&.'\u2019\-]*)*", re.ASCII)
_PARTED = re.compile(f"[{KATAKANA}]{{2,}}(?:[・=＝·][{KATAKANA}]+)+")
_JIEBA = {"nr": PERSON, "ns": PLACE, "nt": GROUP, "nz": ANY, "v": VERB, "vn": NOUN, "j": NOUN, "b": NOUN,
          "l": NOUN, "an": NOUN}
_NO_NAME = "出曾从向对被来"  # letters that rarely end a given name and often begin a verb
_UNKNOWN = ("d", "q", "zg", "ad", "a", "i")  # how jieba tags words that it does not know
_IPADIC = {"人名": PERSON, "地域": PLACE, "組織": GROUP}


class Word(NamedTuple):
    """A word at `start:end`; its part of speech: a kind of name, "noun", "verb", or "" for others.

    `base` is the form that a dictionary has.
    """

    start: int
    end: int
    part: str
    base: str


class NameFound(NamedTuple):
    """A name or term at `start:end`."""

    start: int
    end: int
    kind: str


def read(text: str, language: str) -> tuple[list[NameFound], list[Word]]:
    """Return the names and terms of a text, in order, and its verbs.

    A name is a word that the dictionary marks as one, a run of nouns up to the word for its kind
    ("大学"), a title in brackets, and words in Latin letters with a capital. A term is a run
    of nouns of four letters or more.
    """
    typed = as_typed(text)
    if language == CHINESE:
        typed = typed.translate(_load_simplified())
    words = list(_chinese(typed) if language == CHINESE else _japanese(typed))
    found = [NameFound(*one.span(one.lastindex or 0), WORK) for one in _TITLED.finditer(text)]
    for pattern, kind in ((_PARTED, PERSON), (_LATIN, ANY)):
        found += [NameFound(*one.span(), kind) for one in pattern.finditer(typed)]
    if language == CHINESE:
        found += _with_dots(typed, words)
    found = _apart(found)
    for run in _runs(words, found):
        found += _find_names(run, typed)
    verbs = []
    for word in words:
        if word.part == VERB and len(word.base) > 1:
            base = text[word.start:word.end] if language == CHINESE else word.base
            verbs.append(word._replace(base=base))
    return sorted(found), verbs


def _tag_chinese(text: str) -> list[tuple[str, str]]:
    """Return the words of jieba with their tags; a guessed name takes no letter from the word behind it.

    "李丽出生于" is the name 李丽 and the word 出生于, not 李丽出.
    """
    import rjieba

    tagged: list[tuple[str, str]] = rjieba.tag(text)
    for i, ((name, tag), (after, kind)) in enumerate(pairwise(tagged)):
        guessed = tag == "nr" and len(name) == 3 and len(rjieba.cut(name, False)) > 1
        if guessed and name[-1] in _NO_NAME and len(rjieba.cut(name[-1] + after[0], False)) == 1:
            tagged[i:i + 2] = (name[:-1], tag), (name[-1] + after, kind)
    return tagged


def _chinese(text: str) -> Iterator[Word]:
    """Yield the words that jieba finds."""
    at = 0
    tagged = _tag_chinese(text)
    for (surface, tag), (after, _) in zip(tagged, [*tagged[1:], ("", "")], strict=True):
        start, at = at, at + len(surface)
        part = _JIEBA.get(tag[:2], _JIEBA.get(tag, NOUN if tag[0] == "n" else ""))
        mistaken = tag in _UNKNOWN and len(after) > 1 and _ending(after)
        if len(surface) > 1 and (mistaken or part in ("", VERB) and _ending(surface)):
            part = NOUN
        yield Word(start, at, part, surface)


@cache
def _load_simplified() -> dict[int, str]:
    """Return the simplified character of each traditional one that the dictionary has."""
    lines = (files("opencc") / "dictionary/TSCharacters.txt").read_text("utf-8").splitlines()
    pairs = (line.split()[:2] for line in lines if line.strip())
    return {ord(traditional): simple for traditional, simple in pairs
            if len(traditional) == len(simple) == 1}


@cache
def _tokenizer() -> Any:  # the library says nothing about its types
    lindera = import_module("lindera")
    return lindera.Tokenizer(lindera.load_dictionary("embedded://ipadic"), mode="normal")


def _japanese(text: str) -> Iterator[Word]:
    """Yield the words that IPADIC knows, and those that look like one."""
    at = 0
    before = Word(0, 0, "", "")
    for token in _tokenizer().tokenize(text):
        start = text.index(token.surface, at)
        at = start + len(token.surface)
        part = _japanese_part(token)
        base = token.details[6] if len(token.details) > 6 else token.surface
        if base == "する" and before.end == start:  # the noun before it says what is done
            part, base = (VERB, before.base) if before.part == NOUN else ("", base)
        before = Word(start, at, part, token.surface if base == "*" else base)
        yield before


def _japanese_part(token: Any) -> str:
    kind, sub, proper = token.details[:3] if len(token.details) > 2 else ("", "", "")
    if kind == "動詞" and sub == "自立":
        return VERB
    if kind != "名詞":
        return ""
    if sub == "固有名詞":
        return _IPADIC.get(proper, ANY)
    if token.is_unknown and len(token.surface) > 2 and "\u30a1" <= token.surface[0] <= "\u30ff":
        return ANY
    counts = sub == "接尾" and proper == "助数詞"
    return NOUN if sub in ("一般", "サ変接続", "接尾") and not counts else ""


def _with_dots(text: str, words: list[Word]) -> Iterator[NameFound]:
    """Find foreign names with a dot between their parts, "蒂姆·库克"."""
    begins = {word.start: word for word in words}
    ends = {word.end: word for word in words}
    for dot in re.finditer("[·・•]", text):
        before, after = ends.get(dot.start()), begins.get(dot.end())
        if before and after and before.part and after.part:
            yield NameFound(before.start, after.end, PERSON)


def _runs(words: list[Word], taken: list[NameFound]) -> Iterator[list[Word]]:
    """Yield runs of nouns and names next to each other, without those taken."""
    covered: set[int] = set()
    for one in taken:
        covered.update(range(one.start, one.end))
    run: list[Word] = []
    for word in words:
        noun = word.part not in ("", VERB) and word.start not in covered
        if run and (not noun or word.start != run[-1].end):
            yield run
            run = []
        if noun:
            run.append(word)
    if run:
        yield run


def _find_names(run: list[Word], text: str) -> Iterator[NameFound]:
    """Yield the names in a run of nouns; the whole run as a term if it has none."""
    first, named = 0, False
    while first < len(run):
        start = run[first].start
        last, kind = _institution(run, first, text)
        if not kind and run[first].part != NOUN:
            kind = run[first].part
            while last + 1 < len(run) and kind == PERSON and (
                    run[last + 1].part == PERSON or run[last].end - start == 1):
                last += 1  # also "王" and the given name that is none to the dictionary
        if kind and run[last].end - start > 1:
            named = True
            yield NameFound(start, run[last].end, kind)
        first = last + 1
    if not named and run[-1].end - run[0].start >= LONG:
        yield NameFound(run[0].start, run[-1].end, TERM)


def _institution(run: list[Word], first: int, text: str) -> tuple[int, str]:
    """Return the word that ends an institution or place beginning at the first one of a run, and its
    kind.

    The kind is "" if no word does.
    """
    start = run[first].start
    for last in range(first, len(run)):
        word = run[last]
        said = text[word.start:word.end]
        if word.end - start > LONGEST or last > first and word.part == PERSON:
            break
        kind = _ending(said)
        if kind and (last > first or len(said) >= LONG):
            return last, kind
    return first, ""


def _ending(word: str) -> str:
    """Return the kind of name that a word ends, "" for none."""
    for kind in (GROUP, PLACE, ANY):
        ends = lexicon("endings_cjk", kind)
        if any(word[at:] in ends for at in range(len(word))):
            return kind
    return ""


def _apart(found: list[NameFound]) -> list[NameFound]:
    """Return the spans that overlap no earlier or longer one."""
    kept: list[NameFound] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept
