"""The part of a text that asks, without greetings and requests around it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from qafd.plan.question import QuestionParse

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

WH = frozenset(("WDT", "WP", "WP$", "WRB"))
"""Tags of words that ask."""
FEW = 3  # words of content below which a question without a name leans on what is before it
_TALKERS = frozenset(("i", "we", "you"))
_SUBJECTS = frozenset(("nsubj", "nsubjpass"))
_CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ", "NUM"))


def find_asking(parse: QuestionParse, find_names: Callable[[QuestionParse], Sequence[int]]) -> str:
    """Return the part of a text that asks, with its facts; all of it where nothing asks, or not in English.

    Of several sentences those with a question mark ask, or else those that express a wish to know. Of
    "Could you tell me who wrote it?" the clause is kept. Sentences about the writer or the reader alone,
    without a number, are left out, and so are greetings, thanks and requests. Those stay that have a
    known name or precede a question that leans on them: a pronoun for something else comes before its
    nouns, or it has no name and fewer than three words of content.

    Parameters
    ----------
    find_names : callable
        Returns where names begin that the graph knows; asked only of several sentences.

    Examples
    --------
    >>> from qafd.plan.question import parse_question
    >>> find_asking(parse_question("Hi! Could you tell me who wrote the rules? Thanks."), lambda _: ())
    'who wrote the rules?'
    """
    sentences = [] if parse.doc is None else list(parse.doc.sents)
    asking = [one.text.endswith("?") for one in sentences]
    if not any(asking):
        asking = [_asked_clause(one) is not None for one in sentences]
    if not any(asking):
        return parse.text
    names = find_names(parse) if len(sentences) > 1 else ()
    parts: list[str] = []
    for number, sentence in enumerate(sentences):
        if asking[number]:
            parts.append(_without_opening(sentence))
            continue
        before_question = number + 1 < len(sentences) and asking[number + 1]
        if _has_name(sentence, names) or _tells_of_matter(list(sentence)) or (
                before_question and _leans(sentences[number + 1], names)):
            parts.append(sentence.text)
    return " ".join(part.strip() for part in parts)


def _without_opening(sentence: "Span") -> str:
    """Return a sentence that asks, from the clause that is asked or from the words after a greeting."""
    clause = _asked_clause(sentence)
    if clause is not None:
        return sentence.doc[clause.left_edge.i:sentence.end].text
    greeted = False
    for token in sentence:
        if _in_interjection(token):
            greeted = True
        elif token.dep_ != "punct":
            return sentence.doc[token.i:sentence.end].text if greeted else sentence.text
    return sentence.text


def _in_interjection(token: "Token") -> bool:
    return token.dep_ == "intj" or any(one.dep_ == "intj" for one in token.ancestors)


def _asked_clause(sentence: "Span") -> "Token | None":
    """Return the verb of "who wrote it" in "Could you tell me who wrote it?", before which only writer and
    reader occur."""
    for token in sentence:
        if token.dep_ == "ccomp" and _opens_question(token.left_edge):
            before = list(sentence.doc[sentence.start:token.left_edge.i])
            if not any(_opens_question(one) or _is_content(one) for one in before) and not (
                    _tells_of_matter(before)):
                return token
    return None


def _opens_question(token: "Token") -> bool:
    if token.pos_ == "ADP" and token.i + 1 < len(token.doc):  # "in which year"
        token = token.nbor()
    return token.tag_ in WH or token.lower_ == "whether"


def _is_content(token: "Token") -> bool:
    return token.pos_ in ("NOUN", "PROPN", "NUM") and not _in_interjection(token)


def _tells_of_matter(sentence: Sequence["Token"]) -> bool:
    """Return True if the subject is not the writer or reader, or numbers are given of them, with which
    texts are compared."""
    subjects = [token.lower_ for token in sentence if token.dep_ in _SUBJECTS]
    if any(subject not in _TALKERS for subject in subjects):
        return True
    return bool(subjects) and any(token.pos_ == "NUM" for token in sentence)


def _has_name(sentence: "Span", names: Sequence[int]) -> bool:
    return any(sentence.start_char <= start < sentence.end_char for start in names)


def _leans(sentence: "Span", names: Sequence[int]) -> bool:
    """Return True if a question needs the sentence before it to be understood."""
    if _has_name(sentence, names):
        return False
    content = sum(token.pos_ in _CONTENT for token in sentence)
    return content < FEW or _points_back(sentence)


def _points_back(sentence: Iterable["Token"]) -> bool:
    """Return True if a pronoun of the third person comes before all nouns."""
    for token in sentence:
        if token.pos_ in ("NOUN", "PROPN"):
            return False
        if token.pos_ == "PRON" and ("3" in token.morph.get("Person", [])
                                     or "Dem" in token.morph.get("PronType", [])):
            return True
    return False
