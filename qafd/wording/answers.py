"""Sentences about answers: their likelihood, their limits and their changes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qafd.answer.claims import Verdict
from qafd.plan.kinds import Beyond
from qafd.wording import join_words

if TYPE_CHECKING:
    from qafd.answer import Answer, AnswerChange, Written
    from qafd.retrieve.base import Retrieval

CHANCE = ("The chance comes from a model of six features of the first sentence, such as its similarity to "
          "the question. The model was fitted to questions with known answers.")
_BEYOND = {
    Beyond.SUMMARY: "This asks for a summary, which no single sentence gives. Ask a language model to write "
                    "one, or compare with GraphRAG's reports.",
    Beyond.TOTAL: "This asks for a count, total or largest value, which no sentence gives. If your data "
                  "is a table, open it on the Database page.",
    Beyond.COMPARISON: "This compares things. Each is quoted below; compare them yourself, or ask a language "
                       "model.",
    Beyond.NEGATION: "Quoting does not read “not” and “except”, so a sentence may say the opposite. Read it "
                     "before you rely on it.",
    Beyond.SEVERAL: "Several sentences answer this together. These are the closest ones.",
    Beyond.CLOSED: "This asks for yes or no, which quoting does not decide. Read the closest sentences.",
}


def say_status(answer: "Answer") -> str:
    """Word the likelihood of an answer, its unknown words, or the reason that no sentence can answer."""
    words = join_words([f"“{word}”" for word in answer.unknown])
    lacking = f"These documents do not mention {words}. " if words else ""
    if answer.beyond:
        return lacking + _BEYOND[answer.beyond]
    if answer.lacks_all:
        return lacking.strip()
    if not answer.sentences:
        return "No sentence was found."
    rated = (f"{str(answer.likelihood).capitalize()}: {say_chance(answer.chance)} that the first "
             "sentence answers.")
    return lacking + rated


def say_chance(chance: float) -> str:
    """Word a chance in tenths.

    Examples
    --------
    >>> [say_chance(chance) for chance in (0.72, 0.04, 0.98)]
    ['about 7 in 10', 'less than 1 in 10', 'about 9 in 10']
    """
    tenths = min(9, int(10 * chance))
    return f"about {tenths} in 10" if tenths else "less than 1 in 10"


def say_heading(answer: "Answer") -> str:
    """Return the heading of quoted sentences: "Answer" only if the first is likely one."""
    return "Answer" if answer.answered else "Closest sentences"


def say_doubts(written: "Written") -> list[str]:
    """List the reasons to doubt a model's answer: statements without support, and a cut end."""
    doubts = []
    for claim in written.claims:
        if claim.verdict == Verdict.CONTRADICTED:
            doubts.append(f"Read again by a model, its sources contradict “{claim.text}”.")
        elif claim.verdict == Verdict.UNSAID:
            doubts.append(f"Read again by a model, its sources do not say “{claim.text}”.")
        elif claim.missing:
            words = join_words([f"“{word}”" for word in claim.missing])
            doubts.append(f"The sources of “{claim.text}” do not contain {words}.")
        elif claim.weak:
            doubts.append(f"Its sources support “{claim.text}” weakly.")
    doubts += [f"No source is cited for “{line}”." for line in written.uncited]
    if written.reply.cut:
        doubts.append("The answer was cut at the reply limit. Raise the limit for answers in Settings, or "
                      "with --reply-tokens.")
    return doubts


def say_review(written: "Written") -> str:
    """Word that a model found each cited statement in its sources; "" unless it found all."""
    verdicts = {claim.verdict for claim in written.claims} - {None}
    return "Read again by the model, the sources support each cited statement." if verdicts == {
        Verdict.SUPPORTED} else ""


def say_certainty(retrieval: "Retrieval") -> str:
    """Word the certainty of the question's names, by the share of the mass that starts at them.

    Returns "" for methods without mass.
    """
    named = retrieval.named_share
    if named is None:
        return ""
    if named == 0:
        return "No name recognized in the question; starting from the closest passages."
    if retrieval.unsure:
        return (f"The names of the question are uncertain: {named:.0%} of the mass starts at them, the rest "
                "at passages.")
    return f"{named:.0%} of the mass starts at the names of the question."


def say_change(change: "AnswerChange") -> str:
    """Word the changes of the quoted sentences and of the first one's likelihood.

    The order of the sentences after the first does not count.
    """
    before, after = change.before, change.after
    if not (before.sentences or after.sentences):
        return "No sentence is quoted, as before."
    if change.left or change.came:
        words = f"The quoted sentences change: {join_words(list(_say_moves(change)))}."
    elif before.sentences[0].text != after.sentences[0].text:
        words = "The same sentences are quoted, but another one comes first."
    else:
        words = "The quoted sentences stay the same."
    if before.likelihood != after.likelihood:
        words += f" The first was {before.likelihood} to answer the question and is now {after.likelihood}."
    return words


def _say_moves(change: "AnswerChange") -> Iterator[str]:
    """Yield phrases for sentences that are no longer quoted, and for new ones."""
    if change.left:
        yield f"{len(change.left)} of {len(change.before.sentences)} left out"
    if any(sentence == change.before.sentences[0] for sentence, _ in change.left):
        yield "the first among them"
    if change.came:
        yield f"{len(change.came)} new"
