"""Verbs between two names of a sentence, by its parse."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd")
_BELOW = (*_OBJECTS, "pobj", "prep", "agent")  # between verb and object
_STATED = ("VBD", "VBN", "VBP", "VBZ")  # tags of verbs that say what is, or was
PATH = 4  # words of a relation at most


def find_verb(source: "Span", target: "Span") -> str:
    """Return the words from a verb whose subject is the source down to the target: "founded", "is song
    by"; "" where the parser sees no such verb or it is not stated.

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
