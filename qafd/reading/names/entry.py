"""Entry of a passage in the log, from its names: their relations, and the meaning of acronyms."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Extraction, Mention
from qafd.resources import lexicon

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

CROWD = 8  # entities of a sentence beyond which only neighbors are linked

_ACRONYM = re.compile(r"\s*\((?:the\s+|or\s+)?[\"'\u201c]?([A-Z][\w.&\-]{1,9})[\"'\u201d]?\)")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de"))


def names_something(key: str) -> bool:
    """Return True if a key can be a name: 2 to 100 characters, letters among them."""
    return 2 <= len(key) <= 100 and any(letter.isalpha() for letter in key)


def is_no_name(text: str) -> bool:
    """Return True for a legal form or an address alone, as "GmbH", "Mr." or "Regards"; "MR" is a name."""
    return text.removesuffix(".") in lexicon("names", "no_names")


def entry_of(
    chunk: Chunk, extractor: str, sentences: Sequence[tuple[int, int]],
    named: Sequence[Mention], terms: Sequence[Mention],
    label: Callable[[Mention, Mention], str], names: Callable[[str], bool] = names_something,
) -> Extraction:
    """Return the entry of the extraction log for a chunk, whose title and heading are names too.

    Parameters
    ----------
    terms : sequence of Mention
        Entry without relations and acronyms.
    label : callable
        The words for the relation of two mentions of a sentence, "" if there are none.
    names : callable
        Whether the key of a title or heading can be a name.
    """
    renamed = _acronyms(chunk.text, named)
    named = [replace(one, key=renamed.get(one.key, one.key)) for one in named]
    mentions = [*named, *terms]
    for kind, name in (("title", chunk.title), ("heading", chunk.heading)):
        key = canonical(name)
        if names(key):
            mentions.append(Mention(key, name, 0, 0, 0, kind))
    mentions.sort(key=lambda m: (m.sentence, m.start, m.end, m.kind))
    return Extraction(chunk.id, extractor, tuple(sentences), tuple(mentions),
                      tuple(_assertions(named, label)))


def _acronyms(text: str, named: Sequence[Mention]) -> dict[str, str]:
    """Return keys of the acronyms that the chunk spells out as "X (Y)", to the key of X."""
    renamed = {}
    for mention in named:
        found = _ACRONYM.match(text, mention.end)
        if found is None:
            continue
        letters = "".join(filter(str.isalpha, found[1])).casefold()
        words = re.findall(r"\w+", mention.key)
        full = "".join(word[0] for word in words)
        short = "".join(word[0] for word in words if word not in _SMALL)
        if len(letters) > 1 and letters in (full, short):
            renamed[canonical(found[1])] = mention.key
    return renamed


def _assertions(named: Sequence[Mention], label: Callable[[Mention, Mention], str]
                ) -> Iterator[Assertion]:
    """Yield relations between the names of each sentence."""
    by_sentence: dict[int, dict[str, Mention]] = {}
    for mention in named:
        by_sentence.setdefault(mention.sentence, {}).setdefault(mention.key, mention)
    for sentence, first in by_sentence.items():
        mentions = first.values()
        pairs = combinations(mentions, 2) if len(first) <= CROWD else pairwise(mentions)
        for source, target in pairs:
            yield Assertion(source.key, target.key, sentence, label(source, target))


_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd")
_BELOW = (*_OBJECTS, "pobj", "prep", "agent")  # between verb and object
_STATED = ("VBD", "VBN", "VBP", "VBZ")  # tags of verbs that say what is, or was
PATH = 4  # words of a relation at most


def find_verb(source: "Span", target: "Span") -> str:
    """Return the words from a verb whose subject is the source down to the target: "founded", "is song
    by".

    It is "" if the parser sees no such verb, or it is not stated.

    A preposition next to an object, as in "named the machine after X", is about the object, not about
    the subject; so does one below a name, as in "met Y in X".
    """
    token = _head(target.root)
    words: list[str] = []
    while token.dep_ in _BELOW and len(words) < PATH:
        token = token.head
        if token.pos_ == "PROPN":
            return ""
        words.insert(0, token.text)
    if not words or _head(source.root) not in _subjects(token) or not _is_stated(token):
        return ""
    through = {child.dep_ for child in token.children if child.text in words}
    beside = [child for child in token.children if child.dep_ in (*_OBJECTS, "dative")]
    if beside and not through.intersection(_OBJECTS) and len(words) > 1:
        return ""
    particle = [child.text for child in token.children if child.dep_ == "prt"]
    return " ".join([words[0], *particle, *words[1:]]).casefold()


def _is_stated(verb: "Token") -> bool:
    """Return True if a verb states a fact: no question, negation, possibility, wish or condition."""
    before = {child.dep_ for child in verb.children}
    modal = any(child.tag_ == "MD" for child in verb.children)
    asked = verb.sent.text.rstrip().endswith("?")
    if verb.pos_ not in ("VERB", "AUX") or verb.tag_ not in _STATED or asked or modal:
        return False
    return verb.dep_ not in ("advcl", "ccomp") and "neg" not in before


def _subjects(verb: "Token") -> list["Token"]:
    """Return the subject of a verb, or of the verb before "and"."""
    own = [child for child in verb.children if child.dep_ in _SUBJECTS]
    if own or verb.dep_ != "conj":
        return own
    return _subjects(verb.head)


def _head(token: "Token") -> "Token":
    """Return the first of the names that "and" joins, which has their place in the sentence."""
    while token.dep_ == "conj":
        token = token.head
    return token
