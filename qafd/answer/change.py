"""What becomes of an answer: the quoted sentences that left, and those that came."""

from dataclasses import dataclass

from qafd.answer import Answer, Citation, Sentence
from qafd.view.panel import counted

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

    @property
    def sentence(self) -> str:
        """The change in words; in which order sentences follow the first one is no change."""
        if self.before.abstained and self.after.abstained:
            return "There is no answer, as before."
        if self.after.abstained:
            return f"The answer is lost. {self.after.absence}"
        if self.before.abstained:
            return "Now there is an answer."
        if self.left or self.came:
            return f"The answer changes: {' and '.join(self._moves())}."
        if self.before.sentences[0].text != self.after.sentences[0].text:
            return "The answer has the same sentences, but another one comes first."
        return "The answer stays the same."

    def _moves(self) -> list[str]:
        """What left, and what came."""
        left, came, whole = len(self.left), len(self.came), len(self.before.sentences)
        moves = []
        if left:
            leave = "leaves" if left == 1 else "leave"
            if whole == 1:
                words = f"its only sentence {leave}"
            else:
                words = f"{left} of its {counted(whole, 'sentence')} {leave}"
                if any(sentence.best for sentence, _ in self.left):
                    words += ", the best one among them" + ("," if came else "")
            moves.append(words)
        if came:
            moves.append(f"{came} {'comes' if came == 1 else 'come'}")
        return moves


def _quoted(answer: Answer) -> dict[tuple[str, int, int], Quoted]:
    """The sentences of an answer by document and place; none where it abstains."""
    if answer.abstained:
        return {}
    found = ((s, answer.citations[s.citation - 1]) for s in answer.sentences)
    return {(c.passage.document, s.start, s.end): (s, c) for s, c in found}
