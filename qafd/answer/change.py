"""AnswerChange: the quoted sentences that only one of two answers has."""

from dataclasses import dataclass

from qafd.answer import Answer, Citation, Sentence

Quoted = tuple[Sentence, Citation]


@dataclass(frozen=True)
class AnswerChange:
    """Two answers to one question; sentences that only one of them quotes, with their sources."""

    before: Answer
    after: Answer
    left: tuple[Quoted, ...]
    came: tuple[Quoted, ...]

    @classmethod
    def of(cls, before: Answer, after: Answer) -> "AnswerChange":
        """Compare two answers; a sentence is known by its place."""
        first, second = _list_quoted(before), _list_quoted(after)
        return cls(before, after, tuple(first[place] for place in first if place not in second),
                   tuple(second[place] for place in second if place not in first))


def _list_quoted(answer: Answer) -> dict[tuple[str, int, int], Quoted]:
    """Return the sentences of an answer by document and place."""
    found = ((sentence, answer.citations[sentence.citation - 1]) for sentence in answer.sentences)
    return {(citation.passage.document, sentence.start, sentence.end): (sentence, citation)
            for sentence, citation in found}
