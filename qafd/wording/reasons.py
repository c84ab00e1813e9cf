"""Sentences for the reasons that a node was found, and for notices about a retrieval."""

from collections.abc import Mapping, Sequence

from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, Value
from qafd.wording import join_some, join_words, ordinal

_SEEDS = {
    ReasonKind.NAMED: "the question names it",
    ReasonKind.STANDS_FOR_NAME: "it stands for a name of the question",
    ReasonKind.NEAR_KEYWORD: "similarity {score:.2f} to the keyword {word}",
    ReasonKind.NEAR_QUESTION: "similarity {score:.2f} to the question",
    ReasonKind.NEAREST_NAME: "the name nearest to a keyword, similarity {score:.2f}",
    ReasonKind.NEAR_BY_MEANING:
        "number {place} of the passages nearest to the question in meaning",
    ReasonKind.NEAR_BY_MEANING_AND_WORDS:
        "number {place} of the passages nearest to the question in meaning and words",
    ReasonKind.HOLDS_VALUE: "it holds “{text}”",
    ReasonKind.CHOSEN: "it was chosen by hand",
}
_SENTENCES = {
    ReasonKind.GIVEN: "{text}",
    ReasonKind.RANKED: "Number {place} of its passages.",
    ReasonKind.BROUGHT_BY: "Retrieved by diffusion {diffusions}.",
    ReasonKind.NO_NEIGHBORS: "It has no neighbors here, so it takes no mass.",
    ReasonKind.FILLED_FROM: "Filled up: the largest part of its mass came from {name}.",
    ReasonKind.TOUCHED_FROM:
        "Touched by the front but not full: the largest part of its mass came from {name}.",
    ReasonKind.UNREACHED: "No mass reached it.",
    ReasonKind.PUSHED_TO: "Score {score:.3g} after the pushes, rank {place}.",
    ReasonKind.WALK_SHARE: "{share:.2%} of the walk is here, rank {place}.",
    ReasonKind.WALK_FROM: "The largest part of its walk came from {name}.",
    ReasonKind.WALK_FROM_PASSAGE: "The largest part of its walk came from the passage {name}.",
    ReasonKind.WALK_FROM_QUESTION: "The largest part of its walk came straight from the question.",
    ReasonKind.THROUGH_SENTENCE:
        "Activated by {name} through a sentence of similarity {cosine:.2f}, score {score:.2f}.",
    ReasonKind.SENTENCE_USED:
        "Activation passed through this sentence, similarity {cosine:.2f}.",
    ReasonKind.IN_COMMUNITY:
        "In community {community} ({title}), number {place} for the question, similarity "
        "{similarity:.2f}.",
    ReasonKind.NEAR_ENTITY: "Entity {place} nearest to the question.",
    ReasonKind.COMMUNITY_LEFT_OUT: "Its community was not among the chosen ones.",
    ReasonKind.ONE_HOP: "Hop 1: a neighbor of {name}, which a keyword found.",
    ReasonKind.FACT_END:
        "End of the relation with {name}, number {place} near the question, cosine {cosine:.2f}.",
    ReasonKind.RELATION_END:
        "End of relation number {place} for the keyword {word}, cosine {cosine:.2f}.",
    ReasonKind.OTHER_END: "The other end is {name}.",
    ReasonKind.ON_PATH: "On path {place}, reliability {score:.2f}: {way}.",
    ReasonKind.NO_PATH: "No path of 3 steps keeps its resource.",
    ReasonKind.ON_FLOW_PATH: "On path {place} of {count}, mean energy {score:.2f}: {way}.",
    ReasonKind.IN_SENTENCE:
        "Activated by the sentence “{text}”, number {place} of the sentences nearest to the "
        "question, cosine {cosine:.2f}.",
    ReasonKind.IN_SUMMARY:
        "Activated by the summary “{text}”, number {place} of the summaries nearest to the "
        "question, cosine {cosine:.2f}.",
    ReasonKind.ENERGY: "Energy {energy:.2f} from its own summary.",
    ReasonKind.ENERGY_FROM: "Energy {energy:.2f}, most of it from {name}.",
    ReasonKind.BY_MEANING:
        "Number {place} of {count:,} passages: cosine {score:.2f} with the question.",
    ReasonKind.FOREIGN: "Number {place} of the results of {name} (score {score:.3g}).",
    ReasonKind.BY_WORDS: "Number {place} of {count:,} passages: BM25 {score:.2f}, for {words}.",
    ReasonKind.BY_MEANING_AND_WORDS:
        "Number {place} of {count:,} passages: meaning {meaning:.2f} + {weight:g} x words "
        "{lexical:.2f}.",
    ReasonKind.MENTIONED_BY: "Mentioned by passage number {place}, {title}.",
    ReasonKind.IN_TREE: "Number {place} of all passages and summaries, cosine {cosine:.2f}.",
    ReasonKind.BELOW_SUMMARY: "Below the summary of {title}, cosine {cosine:.2f}.",
    ReasonKind.HELD_BY: "Filled by {filled} of {wanted} conditions, the least by {least:.0%}.",
    ReasonKind.HELD: "{name}: {share:.0%}.",
    ReasonKind.MEETS: "Meets {met} of {wanted} conditions.",
    ReasonKind.MET_BY_RELATION: "{name}: met by a relation, “{text}”.",
    ReasonKind.MET_IN_SENTENCE: "{name}: perhaps met, both are named in “{text}”.",
    ReasonKind.MET_IN_PASSAGE: "{name}: perhaps met, both are named in one passage.",
    ReasonKind.NOT_MET: "{name}: not met.",
    ReasonKind.NOT_RELATED: "{name}: not related, as asked.",
    ReasonKind.COSINE: "Cosine {cosine:.2f} with the question.",
}
_COUNTED = {
    ReasonKind.COMMUNITY_NAMED: (
        "{number} of the question's entities is in it.",
        "{number} of the question's entities are in it."),
    ReasonKind.NEAR_SENTENCE: (
        "Number {place} of the sentences nearest to the question, cosine {cosine:.2f}; it names "
        "{number} entity.",
        "Number {place} of the sentences nearest to the question, cosine {cosine:.2f}; it names "
        "{number} entities."),
    ReasonKind.NEAR_SUMMARY: (
        "Number {place} of the summaries nearest to the question, cosine {cosine:.2f}; it names "
        "{number} entity.",
        "Number {place} of the summaries nearest to the question, cosine {cosine:.2f}; it names "
        "{number} entities."),
    ReasonKind.SUMS_UP: (
        "Level {level}, sums up {number} passage: {text}",
        "Level {level}, sums up {number} passages: {text}"),
}
_CAUSES = {
    ReasonKind.RANKED: (
        "it ranks {places} among its passages", "they rank {places} among its passages"),
    ReasonKind.NAMED: ("it is named in the question", "they are named in the question"),
    ReasonKind.STANDS_FOR_NAME: (
        "it stands for a name of the question", "they stand for names of the question"),
    ReasonKind.NEAR_KEYWORD: (
        "it is near in name to the keyword {word}", "they are near in name to the keyword {word}"),
    ReasonKind.NEAR_QUESTION: (
        "it is near in name to the question", "they are near in name to the question"),
    ReasonKind.NEAREST_NAME: (
        "it is nearest in name to the question's keywords",
        "they are nearest in name to the question's keywords"),
    ReasonKind.NEAR_BY_MEANING: (
        "it ranks {places} by similarity to the question",
        "they rank {places} by similarity to the question"),
    ReasonKind.NEAR_BY_MEANING_AND_WORDS: (
        "it ranks {places} by meaning and words", "they rank {places} by meaning and words"),
    ReasonKind.HOLDS_VALUE: ("it holds “{text}”", "they hold “{text}”"),
    ReasonKind.CHOSEN: ("it is a seed by choice", "they are seeds by choice"),
    ReasonKind.FILLED_FROM: (
        "it fills up with mass that comes mostly from {name}",
        "they fill up with mass that comes mostly from {name}"),
    ReasonKind.PUSHED_TO: ("it ranks {places} after the pushes", "they rank {places} after the pushes"),
    ReasonKind.WALK_SHARE: ("it ranks {places} in its walk", "they rank {places} in its walk"),
    ReasonKind.WALK_FROM: (
        "it is reached by its walk mostly from {name}",
        "they are reached by its walk mostly from {name}"),
    ReasonKind.WALK_FROM_PASSAGE: (
        "it is reached by its walk mostly from the passage {name}",
        "they are reached by its walk mostly from the passage {name}"),
    ReasonKind.WALK_FROM_QUESTION: (
        "it ranks {places} in its walk, which starts there",
        "they rank {places} in its walk, which starts there"),
    ReasonKind.THROUGH_SENTENCE: (
        "it is activated by {name} through a sentence near the question",
        "they are activated by {name} through a sentence near the question"),
    ReasonKind.IN_COMMUNITY: (
        "it belongs to the community around {title}",
        "they belong to the community around {title}"),
    ReasonKind.NEAR_ENTITY: (
        "it ranks {places} by similarity to the question",
        "they rank {places} by similarity to the question"),
    ReasonKind.ONE_HOP: ("it is one hop from {name}", "they are one hop from {name}"),
    ReasonKind.FACT_END: (
        "it takes part in relations near the question", "they take part in relations near the question"),
    ReasonKind.RELATION_END: (
        "it takes part in relations near the keyword {word}",
        "they take part in relations near the keyword {word}"),
    ReasonKind.ON_PATH: (
        "it is on the path from {first} to {last}",
        "they are on the path from {first} to {last}"),
    ReasonKind.ON_FLOW_PATH: (
        "it is on the path from {first} to the passage {last}",
        "they are on the path from {first} to the passage {last}"),
    ReasonKind.IN_SENTENCE: (
        "it is named in the sentence “{text}”, which ranks {places} by similarity to the question",
        "they are named in the sentence “{text}”, which ranks {places} by similarity to the "
        "question"),
    ReasonKind.IN_SUMMARY: (
        "it is named in the summary “{text}”, which ranks {places} by similarity to the question",
        "they are named in the summary “{text}”, which ranks {places} by similarity to the "
        "question"),
    ReasonKind.BY_MEANING: (
        "it ranks {places} by similarity to the question",
        "they rank {places} by similarity to the question"),
    ReasonKind.FOREIGN: ("{name} returns it {places}", "{name} returns them {places}"),
    ReasonKind.BY_WORDS: (
        "it ranks {places} by the question's words", "they rank {places} by the question's words"),
    ReasonKind.BY_MEANING_AND_WORDS: (
        "it ranks {places} by meaning and words", "they rank {places} by meaning and words"),
    ReasonKind.MENTIONED_BY: (
        "it is mentioned in the passage {title}, which ranks {places}",
        "they are mentioned in the passage {title}, which ranks {places}"),
    ReasonKind.IN_TREE: (
        "it ranks {places} of all passages and summaries by similarity to the question",
        "they rank {places} of all passages and summaries by similarity to the question"),
    ReasonKind.HELD_BY: (
        "it is filled by {filled} of {wanted} conditions",
        "they are filled by {filled} of {wanted} conditions"),
    ReasonKind.MEETS: (
        "it meets {met} of {wanted} conditions",
        "they meet {met} of {wanted} conditions"),
    ReasonKind.BELOW_SUMMARY: (
        "it lies below the summary of {title}", "they lie below the summary of {title}"),
}
_NOTICES = {
    NoticeKind.GIVEN: "{text}",
    NoticeKind.ENDED_EARLY: "Ended after {done} of {asked} questions: {text}",
    NoticeKind.NOT_ALL_JUDGED: "Not all questions were judged: {text}",
    NoticeKind.GOLD_UNKNOWN:
        "{missing} of {all} gold passages are not in this workspace and count as missed: {names}.",
    NoticeKind.QUESTION_CUT: "The question has {count:,} characters and only the first {read:,} are read. "
                             "Put the question itself first.",
    NoticeKind.READ_IN_PART: "Only this part of your text is read as the question: “{text}”",
    NoticeKind.NO_NAME_KNOWN: "This graph has no name of the question, so passages are found by words and "
                              "meaning only. Try a name that is in the documents.",
    NoticeKind.NOT_ENGLISH: "The question does not look English. The bundled model compares meanings in "
                            "English only; names and words still count.",
    NoticeKind.READ_WITHOUT: "The question was read without {model}: {text}",
    NoticeKind.THEN_ASKED: "Then asked: {text}",
    NoticeKind.NOT_ASKED_FURTHER: "{model} asked no further question: {text}",
    NoticeKind.NAME_UNKNOWN: "These documents do not mention “{name}”.",
    NoticeKind.NAME_IN_PART: "These documents do not mention “{name}”, only {part}.",
    NoticeKind.NAME_ALIKE: "These documents do not mention “{name}”; it is read as {other} (similar "
                           "spelling).",
    NoticeKind.NAME_SHORT: "“{name}” is read as {other}, the only name here that contains it.",
    NoticeKind.NAME_SHARED: "“{name}” may be {names}; ask with the full name.",
    NoticeKind.WORD_ALIKE: "No passage has the word “{name}”; it is read as “{other}”.",
    NoticeKind.NAME_NEAR: "These documents do not mention “{name}”; it is read as {other} (similarity "
                          "{similarity:.2f}).",
    NoticeKind.NO_SEED: "No seed was found for this question.",
    NoticeKind.NO_SOURCE: "No source was found for this question.",
    NoticeKind.FOREIGN_EMPTY: "{name} returned nothing for this question.",
    NoticeKind.FOREIGN_UNMATCHED:
        "{count} of the {total} results of {name} match no passage of this workspace (less than "
        "{share:.0%} of their words in a row, or too short): {results}.",
    NoticeKind.NO_SHARED_WORD: "No passage has a word of the question.",
    NoticeKind.NO_JOINED_PAIR:
        "No two entities near the keywords are joined by a path of 3 relations that keeps its "
        "resource.",
    NoticeKind.NONE_MET:
        "Nothing is related to the names of the question by the chosen evidence. Allow weaker evidence, "
        "or use another name.",
    NoticeKind.NO_CONDITION:
        "The question has no name that the graph knows as a condition of the answer. Use a name that "
        "is in the documents.",
    NoticeKind.ALL_NEGATED:
        "All conditions are negated, so nearly everything meets them. Add one that must hold.",
    NoticeKind.ONE_CONDITION:
        "The question has one condition, so everything related to {name} meets it. Add another one.",
    NoticeKind.CONTRADICTION:
        "{name} is both required and excluded, so nothing can match. Remove one of the two.",
    NoticeKind.NOTHING_SOUGHT:
        "The question does not name what it looks for, so everything related to its names counts. Begin "
        "with “Who” or “Which”.",
    NoticeKind.NEAREST_TAKEN:
        "The question has no name that the graph knows; the nearest name is used as a guess.",
    NoticeKind.NOTHING_NAMED:
        "The question names no table, column or value of this database; those nearest in meaning are "
        "used.",
    NoticeKind.LONE_SEEDS:
        "seeds without neighbors, which take no mass: {count} of {seeds}",
    NoticeKind.MASS_CAPPED:
        "mass capped at 99.9% of the capacity: {wanted:,.4g} units were requested, the nodes connected "
        "to these seeds can hold {room:,.4g}, so {poured:,.4g} were poured and everything is full or "
        "nearly full; choose less mass for a local answer",
    NoticeKind.ALL_TIED: "The evidence for them is equal, so their order has no meaning.",
    NoticeKind.UNREAD: "Not read as a condition: {words}.",
    NoticeKind.NAME_EXCLUDED:
        "{name} itself is excluded, as the question requires; entities related to it are not.",
    NoticeKind.AND_WITH_OR:
        "“{words}” has “and” and “or”: the “or” is read as joining only the names on either side. If you "
        "mean something else, ask two questions.",
    NoticeKind.DESCRIBED:
        "Read as a description of the answer, though it may describe something else: {words}. If that "
        "matters, ask two questions.",
    NoticeKind.MASS_CAPPED_THERE:
        "mass capped at {count} of {seeds} seeds: {wanted:,.4g} units were requested, the nodes "
        "connected to these seeds can hold {room:,.4g}, so {poured:,.4g} were poured there",
}


_COUNTED_NOTICES = {
    NoticeKind.MORE_UNKNOWN: (
        "These documents do not mention {number} more name of the question.",
        "These documents do not mention {number} more names of the question."),
    NoticeKind.FEW_PASSAGES: (
        "With {number} passage in all, any method has it among its first 5. Compare “Found in 2” and "
        "MRR.",
        "With {number} passages in all, any method has them among its first 5. Compare “Found in 2” "
        "and MRR."),
    NoticeKind.FEW_QUESTIONS: (
        "{number} question is too few to compare methods; use {few} or more.",
        "{number} questions are too few to compare methods; use {few} or more."),
    NoticeKind.GOLD_LEFT_OUT: (
        "Left out: {number} question without gold passages.",
        "Left out: {number} questions without gold passages."),
    NoticeKind.ALL_MET: (
        "{number} answer meets every condition that must hold.",
        "{number} answers meet every condition that must hold."),
    NoticeKind.PERHAPS_MET: (
        "No relation meets a condition. {number} answer may meet {met} of {wanted}: the texts name "
        "both together.",
        "No relation meets a condition. {number} answers may meet {met} of {wanted}: the texts name "
        "both together."),
    NoticeKind.TIED: (
        "The first of them has the best evidence.",
        "The evidence for the first {number} of them is equal, so their order has no meaning."),
    NoticeKind.SOME_MET: (
        "No answer is known to meet all {wanted} conditions; {number} answer meets {met}.",
        "No answer is known to meet all {wanted} conditions; {number} answers meet {met} each."),
}


def word_reason(reason: Reason) -> str:
    """Word all reasons that a method gives for a node."""
    sentences = [_word_one(part) for part in (reason, *reason.also)]
    return " ".join(filter(None, sentences))


def word_seed(reason: Reason) -> str:
    """Word the reason that a node is a seed, as a phrase: "the question names it"."""
    if reason.kind not in _SEEDS:
        return word_reason(reason).rstrip(".")
    return _SEEDS[reason.kind].format(**_word_values(reason.values))


def word_cause(reasons: Sequence[Reason]) -> str:
    """Word the cause of some nodes: "they are one hop from Apple", "they rank 7th to 9th in its walk".

    Parameters
    ----------
    reasons : sequence of Reason
        One for each node, in any order, all with the same `Reason.shared`.
    """
    first = reasons[0]
    if first.kind not in _CAUSES:
        return word_reason(first).rstrip(".")
    one, many = _CAUSES[first.kind]
    found = {reason.values["place"] for reason in reasons if "place" in reason.values}
    places = sorted(place for place in found if isinstance(place, int))
    template = one if len(reasons) == 1 else many
    return template.format(places=word_places(places), **_word_values(first.values))


def word_notice(notice: Notice) -> str:
    """Word a notice about a retrieval."""
    if notice.kind in _COUNTED_NOTICES:
        one, many = _COUNTED_NOTICES[notice.kind]
        return _count(one, many, _word_values(notice.values))
    return _NOTICES[notice.kind].format(**_word_values(notice.values))


def word_places(places: Sequence[int]) -> str:
    """Word ascending ranks, as "7th to 9th" only if none between is missing."""
    words = [ordinal(place) for place in places]
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{words[0]} to {words[-1]}"
    if len(places) > 3:
        return f"between {words[0]} and {words[-1]}"
    return join_words(words)


def _word_one(reason: Reason) -> str:
    kind, values = reason.kind, _word_values(reason.values)
    if kind in _SEEDS:
        return f"Seed: {_SEEDS[kind].format(**values)}."
    if kind in _COUNTED:
        one, many = _COUNTED[kind]
        return _count(one, many, values)
    return _SENTENCES[kind].format(**values)


def _count(one: str, many: str, values: dict[str, object]) -> str:
    number = values.pop("count")
    if not isinstance(number, int):
        raise ValueError("the count is not a number")
    return (one if number == 1 else many).format(number=f"{number:,}", **values)


def _word_values(values: Mapping[str, Value]) -> dict[str, object]:
    """Return the values for a sentence: no period at the end of a name, lists as words."""
    words: dict[str, object] = {}
    for name, value in values.items():
        if name == "way" and isinstance(value, tuple):
            words[name] = " → ".join(str(step).rstrip(".") for step in value)
        elif name == "results" and isinstance(value, tuple):
            words[name] = join_some([str(word) for word in value])
        elif isinstance(value, tuple):
            words[name] = join_words([str(word) for word in value])
        elif isinstance(value, str) and name != "text":
            words[name] = value.rstrip(".")
        else:
            words[name] = value
    return words
