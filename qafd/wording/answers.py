"""Answers as sentences: that there is none, what is missing, what becomes of one, how sure it is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qafd.models.prompts_answer import ABSENT
from qafd.wording import count_words, join_words

if TYPE_CHECKING:
    from qafd.answer import Answer, Written
    from qafd.answer.change import AnswerChange
    from qafd.retrieve.base import Retrieval

STRONG = 2  # times what an answer needs, from which evidence is called strong


def say_absence(answer: "Answer") -> str:
    """That the evidence is too weak; "" where there is an answer."""
    if not answer.abstained:
        return ""
    lead = "Perhaps not in these documents." if answer.confidence == "perhaps" else ABSENT
    if answer.lacking and answer.evidence >= answer.needed:
        return f"{lead} {say_lack(answer)}"
    return f"{lead} {say_strength(answer)}"


def say_strength(answer: "Answer") -> str:
    """How strong the evidence is, in a word."""
    if answer.confidence == "absent":
        return "Evidence: far too weak."
    if answer.abstained:
        return "Evidence: weak."
    if answer.evidence < STRONG * answer.needed:
        return "Evidence: enough."
    return "Evidence: strong."


def say_lack(answer: "Answer") -> str:
    """What of the question the best sentence does not speak of."""
    return "What comes nearest does not speak of {words}.".format(
               words=", ".join(f"“{words}”" for words in answer.lacking))


def say_doubts(written: "Written") -> list[str]:
    """What speaks against a model's answer: what its sources do not have, and that it was cut."""
    said = []
    for claim in written.claims:
        if claim.missing:
            said.append("The sources of “{claim}” do not have {words}.".format(
                            claim=claim.text,
                            words=join_words([f"“{word}”" for word in claim.missing])))
    if written.reply.cut:
        said.append("The answer ends where the reply limit was reached; raise the reply limit "
                     "of answers, in Settings or with --reply-tokens, for the whole of it.")
    return said


def say_need(answer: "Answer") -> str:
    """How much evidence there is for the best sentence, and how much an answer needs."""
    evidence = answer.evidence
    if evidence < answer.needed:
        evidence = min(evidence, answer.needed - 0.01)  # 0.479 is not 0.48
    return (f"The evidence is {evidence:.2f}; an answer needs {answer.needed:.2f}, and twice "
            "that is strong.")


def say_gap(answer: "Answer") -> str:
    """Which words of the question no considered passage has, or what it takes out; "" for none."""
    said = []
    if answer.missing:
        said.append(count_words(
            len(answer.missing),
            "The passages found do not have the word {words}; they may say it otherwise, or not at all.",
            "The passages found do not have the words {words}; they may say them otherwise, or not at all.",
            words=", ".join(f"“{word}”" for word in answer.missing)))
    if answer.exclusion:
        said.append(f"“{answer.exclusion}” is not read here: quoted sentences may be about "
                     "what it takes out.")
    return " ".join(said)


def say_certainty(retrieval: "Retrieval") -> str:
    """How sure the names of the question are, by the share of the mass that enters at them; "" for
    methods without mass."""
    named = retrieval.named_share
    if named is None:
        return ""
    if named == 0:
        return "No sure name: the mass enters at passages."
    if retrieval.unsure:
        return (f"The names of the question are not quite sure: {named:.0%} of the mass enters "
                "at them, the rest at passages.")
    return f"Sure names: {named:.0%} of the mass enters at them."


def say_change(change: "AnswerChange") -> str:
    """What becomes of an answer; in which order sentences follow the first one is no change."""
    before, after = change.before, change.after
    if before.abstained and after.abstained:
        return "There is no answer, as before."
    if after.abstained:
        return f"The answer is lost. {say_absence(after)}"
    if before.abstained:
        return "Now there is an answer."
    if change.left or change.came:
        return f"The answer changes: {join_words(list(_say_moves(change)))}."
    if before.sentences[0].text != after.sentences[0].text:
        return "The answer has the same sentences, but another one comes first."
    return "The answer stays the same."


def _say_moves(change: "AnswerChange") -> Iterator[str]:
    """What left, and what came."""
    if change.left:
        yield count_words(len(change.left), "{number} of its {all} leaves", "{number} of its {all} leave",
                        all=count_words(len(change.before.sentences), "{number} sentence",
                                      "{number} sentences"))
    if any(sentence.best for sentence, _ in change.left):
        yield "the best one is among them"
    if change.came:
        yield count_words(len(change.came), "{number} comes", "{number} come")
