"""Answers as sentences: that there is none, what is missing, what becomes of one, how sure it is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qafd.models.prompts_answer import ABSENT
from qafd.wording import say, say_count, say_list

if TYPE_CHECKING:
    from qafd.answer import Answer, Written
    from qafd.answer.change import AnswerChange
    from qafd.retrieve.base import Retrieval

STRONG = 2  # times what an answer needs, from which evidence is called strong


def say_absence(answer: "Answer") -> str:
    """That the evidence is too weak; "" where there is an answer."""
    if not answer.abstained:
        return ""
    lead = say("Perhaps not in these documents.") if answer.confidence == "perhaps" else say(ABSENT)
    if answer.lacking and answer.evidence >= answer.needed:
        return f"{lead} {say_lack(answer)}"
    return f"{lead} {say_strength(answer)}"


def say_strength(answer: "Answer") -> str:
    """How strong the evidence is, in a word."""
    if answer.confidence == "absent":
        return say("Evidence: far too weak.")
    if answer.abstained:
        return say("Evidence: weak.")
    if answer.evidence < STRONG * answer.needed:
        return say("Evidence: enough.")
    return say("Evidence: strong.")


def say_lack(answer: "Answer") -> str:
    """What of the question the best sentence does not speak of."""
    return say("What comes nearest does not speak of {words}.",
               words=", ".join(f"“{words}”" for words in answer.lacking))


def say_doubts(written: "Written") -> list[str]:
    """What speaks against a model's answer: what its sources do not have, and that it was cut."""
    said = []
    for claim in written.claims:
        if claim.missing:
            said.append(say("The sources of “{claim}” do not have {words}.", claim=claim.text,
                            words=say_list([f"“{word}”" for word in claim.missing])))
    if written.reply.cut:
        said.append(say("The answer ends where the reply limit was reached; raise the reply limit of "
                        "answers, in Settings or with --reply-tokens, for the whole of it."))
    return said


def say_need(answer: "Answer") -> str:
    """How much evidence there is for the best sentence, and how much an answer needs."""
    evidence = answer.evidence
    if evidence < answer.needed:
        evidence = min(evidence, answer.needed - 0.01)  # 0.479 is not 0.48
    return say("The evidence is {evidence:.2f}; an answer needs {needed:.2f}, and twice that is strong.",
               evidence=evidence, needed=answer.needed)


def say_gap(answer: "Answer") -> str:
    """Which words of the question no considered passage has, or what it takes out; "" for none."""
    said = []
    if answer.missing:
        said.append(say_count(
            len(answer.missing),
            "The passages found do not have the word {words}; they may say it otherwise, or not at all.",
            "The passages found do not have the words {words}; they may say them otherwise, or not at all.",
            words=", ".join(f"“{word}”" for word in answer.missing)))
    if answer.exclusion:
        said.append(say("“{word}” is not read here: quoted sentences may be about what it takes out.",
                        word=answer.exclusion))
    return " ".join(said)


def say_certainty(retrieval: "Retrieval") -> str:
    """How sure the names of the question are, by the share of the mass that enters at them; "" for
    methods without mass."""
    named = retrieval.named_share
    if named is None:
        return ""
    if named == 0:
        return say("No sure name: the mass enters at passages.")
    if retrieval.unsure:
        return say("The names of the question are not quite sure: {share:.0%} of the mass enters at "
                   "them, the rest at passages.", share=named)
    return say("Sure names: {share:.0%} of the mass enters at them.", share=named)


def say_change(change: "AnswerChange") -> str:
    """What becomes of an answer; in which order sentences follow the first one is no change."""
    before, after = change.before, change.after
    if before.abstained and after.abstained:
        return say("There is no answer, as before.")
    if after.abstained:
        return say("The answer is lost. {why}", why=say_absence(after))
    if before.abstained:
        return say("Now there is an answer.")
    if change.left or change.came:
        return say("The answer changes: {moves}.", moves=say_list(list(_say_moves(change))))
    if before.sentences[0].text != after.sentences[0].text:
        return say("The answer has the same sentences, but another one comes first.")
    return say("The answer stays the same.")


def _say_moves(change: "AnswerChange") -> Iterator[str]:
    """What left, and what came."""
    if change.left:
        yield say_count(len(change.left), "{number} of its {all} leaves", "{number} of its {all} leave",
                        all=say_count(len(change.before.sentences), "{number} sentence",
                                      "{number} sentences"))
    if any(sentence.best for sentence, _ in change.left):
        yield say("the best one is among them")
    if change.came:
        yield say_count(len(change.came), "{number} comes", "{number} come")
