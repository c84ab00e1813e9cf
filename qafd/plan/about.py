"""What a question of one clause is about: the names, numbers and the role that its answer speaks of."""

import re
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from qafd.plan.linking import Named, bare_name
from qafd.reading.text.plaintext import has_digit

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_CLAUSES = frozenset(("relcl", "acl", "advcl", "ccomp", "csubj", "csubjpass", "parataxis", "pcomp"))
_SUBJECTS = frozenset(("nsubj", "attr"))
_BE = frozenset(("is", "are", "was", "were", "'s", "\u2019s"))
_PEOPLES = frozenset(("NORP", "LANGUAGE"))  # "the Danish ferry" may be told without the word
_BOUNDS = frozenset(("before", "after", "since", "until", "till", "between", "over", "under", "above",
                     "below", "than", "within", "around"))  # of what has another number
_YEAR = re.compile(r"1\d{3}|20\d\d")
_TITLE = re.compile(r"\w{1,4}\.")  # as "Dr."
_IDENTIFIER = re.compile(r"--\w[\w-]*|\w{2,}(?:(?:[._]|::)\w{2,})+")


def find_about(doc: "Doc", named: Sequence[Named]) -> tuple[tuple[str, ...], ...]:
    """What a sentence that answers a question has to speak of: of each group at least one.

    A group is all names that its verb, or the noun that it asks about with "is" or "was", has next to it;
    one is each year or number of something ("in 1952", "error 7"), each word of a program ("mail.max_size",
    "--force"), and one who is asked for in "Who is the secretary?". Names in small letters, amounts
    ("5 kg") and bounds ("before 1950") are none. Names farther away, as in "Who directed the film that
    Ada Brenner starred in?", may be told elsewhere, and so may those of a choice: questions of several
    clauses, with "or" or with a thing that is described by another ("the music for the film") have no group.

    Parameters
    ----------
    doc : Doc
        An English question, tagged and parsed.
    named : sequence of Named
        What the tagger takes for names in it.

    Examples
    --------
    >>> from qafd.plan.linking import named_in
    >>> from qafd.reading.names.tagger import tagger
    >>> doc = tagger()[0]("Who was the treasurer of Lindau Mill in 1952?")
    >>> find_about(doc, list(named_in(doc)))
    (('Lindau Mill',), ('treasurer',), ('1952',))
    """
    if len(list(doc.sents)) > 1 or any(map(_makes_several, doc)):
        return ()
    spans = _find_called(doc, named)
    inside = {token.i for span in spans for token in span}
    if any(_describes(token, inside) for token in doc):
        return ()
    codes = [token for token in doc
             if (has_digit(token.text) or is_identifier(token.text)) and token.i not in inside]
    inside.update(token.i for token in codes)
    names = tuple(bare_name(span.text) for span in spans if _is_next_to(span.root, inside))
    groups = [names, tuple(_find_role(doc, inside))]
    groups += [(token.text,) for token in codes if _tells_which(token)]
    return tuple(group for group in groups if group)


def is_identifier(word: str) -> bool:
    """Whether a word is one of a program: an option, or parts with "_", "." or "::" between them.

    Examples
    --------
    >>> [is_identifier(word) for word in ("mail.max_size", "std::sort", "--force", "e.g.", "well-known")]
    [True, True, True, False, False]
    """
    return _IDENTIFIER.fullmatch(word) is not None


def _find_called(doc: "Doc", named: Sequence[Named]) -> list["Span"]:
    """The names that are written as such, without peoples, languages and titles."""
    spans = []
    for one in named:
        span = doc.char_span(one.start, one.end, alignment_mode="expand")
        called = one.kind not in _PEOPLES and not one.text.islower() and not _TITLE.fullmatch(one.text)
        if span is not None and called:
            spans.append(span)
    return spans


def _makes_several(token: "Token") -> bool:
    """Whether a word makes several clauses or a choice of a question."""
    joined = token.dep_ == "conj" and token.pos_ in ("VERB", "AUX")
    return joined or token.dep_ in _CLAUSES or token.lower_ == "or"


def _describes(token: "Token", names: Set[int]) -> bool:
    """Whether a noun describes another one that is not asked about: "the music for the film"."""
    noun = token.head.head
    return (token.pos_ == "NOUN" and token.head.pos_ == "ADP" and noun.pos_ == "NOUN"
            and not {token.i, noun.i} & names and not _is_what_is(noun))


def _is_next_to(token: "Token", names: Set[int]) -> bool:
    """Whether nothing but prepositions and names is between a word and the verb of its question, or
    the noun that is asked about."""
    between = list(token.ancestors)[:-1]
    beyond = [one for one in between if one.i not in names and one.pos_ != "ADP"]
    return not beyond or _is_what_is(beyond[0])


def _is_what_is(token: "Token") -> bool:
    """Whether a noun is what something is, in a question whose verb is "is" or "was"."""
    verb = token.head
    return token.dep_ in _SUBJECTS and verb.head.i == verb.i and verb.lower_ in _BE


def _tells_which(code: "Token") -> bool:
    """Whether a number or identifier tells which one is meant, and is no amount and no bound.

    The parser counts with the number of "What does error 7 mean?" what its verb does.
    """
    if any(token.lower_ in _BOUNDS for token in (*code.ancestors, *code.lefts)):
        return False
    counted = code.head
    amount = (code.dep_ in ("nummod", "quantmod") and counted.i > code.i
              and counted.head.i != counted.i)
    return not amount or _YEAR.fullmatch(code.text) is not None


def _find_role(doc: "Doc", names: Set[int]) -> Iterator[str]:
    """The noun for whom "Who is the secretary?" asks."""
    words = [token.lower_ for token in doc if token.is_alpha or token.lower_ in _BE][:2]
    if len(words) == 2 and words[0] == "who" and words[1] in _BE:
        for token in doc:
            if token.pos_ == "NOUN" and token.i not in names and _is_what_is(token):
                yield token.text
