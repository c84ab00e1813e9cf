"""What becomes of an answer: the quoted sentences that left, and those that came."""

from dataclasses import dataclass

from qafd.answer import Answer, Citation, Sentence

Quoted = tuple[Sentence, Citation]


@dataclass(frozen=True)
class AnswerChange:
    """Two answers to one question; sentences that only one of them quotes, with their sources.

    Sentences shown only because nothing answers are no part of an answer.
    """

    before: Answer
    after: Answer
    left: tuple[Quoted, ...]
    came: tuple[Quoted, ...]

    @classmethod
    def of(cls, before: Answer, after: Answer) -> "AnswerChange":
        """The change from one answer to another; a sentence is known by its place."""
        one, other = _quoted(before), _quoted(after)
        return cls(before, after, tuple(one[at] for at in one if at not in other),
                   tuple(other[at] for at in other if at not in one))


def _quoted(answer: Answer) -> dict[tuple[str, int, int], Quoted]:
    """The sentences of an answer by document and place; none where it abstains."""
    if answer.abstained:
        return {}
    found = ((s, answer.citations[s.citation - 1]) for s in answer.sentences)
    return {(c.passage.document, s.start, s.end): (s, c) for s, c in found}
