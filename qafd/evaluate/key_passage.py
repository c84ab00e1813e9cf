"""The passages that answer a question, and the methods that found them."""

from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass

from qafd.answer import Answer
from qafd.retrieve.base import RetrievedPassage
from qafd.retrieve.compare import Comparison


@dataclass(frozen=True)
class AnswerPlaces:
    """The passages that answer, and the rank of each by each method.

    If `known`, they are those that the question is known to need, else the passage that most answers
    quote first. `places` maps documents or ids of passages to ranks, from 1, for every column that did
    not fail.
    """

    titles: tuple[str, ...]
    places: Mapping[str, Mapping[str, int]]
    known: bool = False


def find_verdict(comparison: Comparison, answers: Mapping[str, Answer],
                 needed: Set[str]) -> AnswerPlaces | None:
    """Find the passages that answer and their ranks; None if no passage answers.

    Parameters
    ----------
    answers : mapping of str to Answer
        The quoted answer of every column that did not fail.
    needed : set of str
        Documents, and ids of passages, that the question is known to need.
    """
    titles: dict[str, str] = {}
    for retrieval in comparison.retrievals.values():
        for passage in retrieval.passages:
            for key in needed & {passage.document, passage.chunk}:
                titles[key] = passage.name
    if needed and not titles:
        return None
    best = _best(answers.values())
    if not needed and best is not None:
        titles[best.chunk] = best.name
    if not titles:
        return None
    places: dict[str, dict[str, int]] = {}
    for name, retrieval in comparison.retrievals.items():
        places[name] = {}
        for place, passage in enumerate(retrieval.passages, 1):
            for key in titles.keys() & {passage.document, passage.chunk}:
                places[name].setdefault(key, place)
    return AnswerPlaces(tuple(titles.values()), places, bool(needed))


def _best(answers: Collection[Answer]) -> RetrievedPassage | None:
    """Return the passage that most answers quote first, of several that with the highest chance."""
    passages: dict[str, RetrievedPassage] = {}
    votes: Counter[str] = Counter()
    chances: dict[str, float] = {}
    for answer in answers:
        if answer.sentences and not answer.abstained:
            passage = answer.citations[answer.sentences[0].citation - 1].passage
            passages[passage.id] = passage
            votes[passage.id] += 1
            chances[passage.id] = max(chances.get(passage.id, 0.0), answer.chance)
    if not votes:
        return None
    return passages[max(votes, key=lambda at: (votes[at], chances[at], at))]
