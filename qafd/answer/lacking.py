"""What of a question passages and a sentence do not speak of."""

import re
from collections.abc import Sequence, Set

from qafd.answer.marks import Marks
from qafd.answer.spans import Span
from qafd.plan.about import is_identifier
from qafd.plan.asked import asked_noun, asks_for_something
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text.bm25 import FUNCTION_LETTERS, content_words, words
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.stems import stem, stems
from qafd.records import QueryPlan
from qafd.retrieve.base import RetrievedPassage
from qafd.retrieve.seeds import is_asked_as_name

_WORDS = re.compile(r"(?<!\w['’])\w+")  # without the ending of "Jobs's"
_POINTS = re.compile(r"\b(?:i|me|my|we|us|our|you|your|he|him|his|she|hers?|its?|they|them|their|this|"
                     r"these)\b", re.IGNORECASE)


def find_missing(plan: QueryPlan, passages: Sequence[RetrievedPassage]) -> tuple[str, ...]:
    """The words of a question's names and things, as it spells them, that no passage has in any form.

    Not its verbs, for which texts have others, nor the kind of thing that is asked for ("which
    country"), which answers rarely repeat.
    """
    said = {asked_noun(plan.words)}
    for passage in passages:
        said |= stems(f"{passage.title}\n{passage.heading}\n{passage.text}")
    telling = frozenset(content_words(" ".join(keyword.text for keyword in plan.keywords)))
    found = []
    for word in _WORDS.findall(plan.words):
        for part in FUNCTION_LETTERS.split(word):
            own = words(part)
            if part and not telling.isdisjoint(own) and said.isdisjoint(stems(part)):
                found.append(part)
    return tuple(dict.fromkeys(found))


def find_lacking(plan: QueryPlan, spans: Sequence[Span], at: int) -> tuple[str, ...]:
    """What the question is about, as it says it, and neither a sentence nor what stands around it speaks of.

    Around it are its heading, the title and name of its document and the sentence before it, and all of its
    passage before it where it has a word that points back, as "she", "this" and "I" do.
    """
    if not plan.about:
        return ()
    span = spans[at]
    around = [span.passage.title, span.passage.document, span.heading]
    if _POINTS.search(span.text):
        around.append(span.passage.text[:span.start])
    elif at and spans[at - 1].rank == span.rank:
        around.append(spans[at - 1].text)
    text = "\n".join((*around, span.said))
    said = stems(text)
    lacking: list[str] = []
    for group in plan.about:
        if not any(speaks_of(text, said, one) for one in group):
            lacking += [one for one in group if one in plan.words]  # not what stands for it
    return tuple(lacking)


def find_untold(plan: QueryPlan, marks: Marks, at: int) -> tuple[str, ...]:
    """The words that tell what an English question asks about its names, where a sentence and what stands
    around it have none of them and it brings nothing of the kind that is asked for.

    Such a sentence is near to the question by the names alone; names in small letters are words.
    """
    asks = plan.words
    named = any(is_asked_as_name(name, asks) for name in plan.names)
    if not (named and asks_for_something(asks) and language_of(asks, least=1) == ENGLISH):
        return ()
    return () if marks.told[at] > 0 or marks.fits[at] == 1 else marks.telling


def speaks_of(text: str, said: Set[str], name: str) -> bool:
    """Whether a text with some stems has a word of a name, or all of it however it is parted; a number or
    code as it is, of an identifier its last part.

    Examples
    --------
    >>> speaks_of("LiHua: 1,200 of them ran on 230 V.", set(), "Li Hua")
    True
    >>> [speaks_of("1,200 of them ran on 230 V.", set(), one) for one in ("1200", "230V", "200", "20")]
    [True, True, False, False]
    """
    if is_identifier(name):
        name = re.split(r"[.:]", name)[-1]
    elif not has_digit(name):
        own = map(stem, content_words(name))
        if any(word in said for word in own if len(word) > 2):
            return True
    letters = [re.escape(letter) for letter in name if letter.isalnum() or letter in ".:/"]
    if not any(letter.isalnum() for letter in letters):
        return False
    whole = r"[\s,\u2019'\-\u2010-\u2015_]?".join(letters)
    # Within a number no other one stands, and no name within a word but for "LiHua".
    before = r"(?<![^\W_])" if not name[0].isdigit() else r"(?<!\d)(?<!\d[.,:/])"
    after = r"(?!\d|[.,:/]\d)" if name[-1].isdigit() else r"(?-i:(?![a-z]))"
    return re.search(f"{before}{whole}{after}", text, re.IGNORECASE) is not None
