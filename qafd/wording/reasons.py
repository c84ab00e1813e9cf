"""Why a node was found, and what to know about a retrieval, in words."""

from collections.abc import Mapping, Sequence

from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, Value
from qafd.wording import count_words, join_words

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
    ReasonKind.MODEL_CHOSE: "the model chose it, confidence {confidence:.2f}",
    ReasonKind.CHOSEN: "it was made one",
}
_SENTENCES = {
    ReasonKind.GIVEN: "{text}",
    ReasonKind.RANKED: "Number {place} of its passages.",
    ReasonKind.BROUGHT_BY: "Retrieved by diffusion {subqueries}.",
    ReasonKind.NO_NEIGHBORS: "It has no neighbors here, so it takes no mass.",
    ReasonKind.FILLED_FROM: "Filled up: the largest part of its mass came from {name}.",
    ReasonKind.TOUCHED_FROM:
        "Touched by the front but not full: the largest part of its mass came from {name}.",
    ReasonKind.UNREACHED: "No mass reached it.",
    ReasonKind.PUSHED_TO: "Score {score:.3g} after the pushes, number {place}.",
    ReasonKind.WALK_SHARE: "{share:.2%} of the walk is here, number {place}.",
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
    ReasonKind.COMMUNITY_LEFT_OUT: "Its community was not among those taken.",
    ReasonKind.ONE_HOP: "Hop 1: a neighbor of {name}, which a keyword brought.",
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
    ReasonKind.MEETS: "It surely meets {met} of {wanted} conditions.",
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
    ReasonKind.MODEL_CHOSE: ("the model chose it", "the model chose them"),
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
        "it stands on the path from {first} to {last}",
        "they stand on the path from {first} to {last}"),
    ReasonKind.ON_FLOW_PATH: (
        "it stands on the path from {first} to the passage {last}",
        "they stand on the path from {first} to the passage {last}"),
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
    ReasonKind.MEETS: (
        "it surely meets {met} of {wanted} conditions",
        "they surely meet {met} of {wanted} conditions"),
    ReasonKind.BELOW_SUMMARY: (
        "it lies below the summary of {title}", "they lie below the summary of {title}"),
}
_NOTICES = {
    NoticeKind.GIVEN: "{text}",
    NoticeKind.STOPPED_EARLY: "Stopped after {done} of {asked} questions.",
    NoticeKind.ENDED_EARLY: "Ended after {done} of {asked} questions: {text}",
    NoticeKind.NOT_ALL_JUDGED: "Not all questions were judged: {text}",
    NoticeKind.GOLD_UNKNOWN:
        "{missing} of {all} gold passages are not in this workspace and count as missed: {names}.",
    NoticeKind.NODES_UNKNOWN:
        "{missing} of {all} gold nodes are not in this graph and count as missed: {names}.",
    NoticeKind.QUESTION_CUT: "The question has {count:,} characters; only the first {read:,} are read, so "
                             "put what you ask first.",
    NoticeKind.READ_IN_PART: "Of what you wrote this is read as the question: “{text}”",
    NoticeKind.NO_NAME_KNOWN: "No name in the question is known to this graph, so only words and meaning "
                              "can lead to passages; name something that is in the documents.",
    NoticeKind.NOT_ENGLISH: "The question does not look English, the only language that the bundled model "
                            "compares meanings in; names and words count as always.",
    NoticeKind.READ_WITHOUT: "The question was read without {model}: {text}",
    NoticeKind.CONDITIONS_BY_RULES: "The conditions were read by rules, not by {model}: {text}",
    NoticeKind.NAME_UNKNOWN: "“{name}” is no name in these documents.",
    NoticeKind.NAME_IN_PART: "“{name}” is no name in these documents, only {part} is.",
    NoticeKind.NAME_ALIKE: "“{name}” is no name in these documents; {other} stands for it (spelled alike).",
    NoticeKind.NAME_SHORT: "“{name}” is read as {other}, the only name here that has it.",
    NoticeKind.NAME_SHARED: "“{name}” may be {names}; ask with the whole name.",
    NoticeKind.WORD_ALIKE: "No passage has the word “{name}”; it is read as “{other}”.",
    NoticeKind.NAME_NEAR: "“{name}” is no name in these documents; {other} stands for it (similarity "
                          "{similarity:.2f}).",
    NoticeKind.NO_SEED: "No seed was found for this question.",
    NoticeKind.NO_SOURCE: "No source was found for this question.",
    NoticeKind.FOREIGN_EMPTY: "{name} returned nothing for this question.",
    NoticeKind.FOREIGN_UNMATCHED:
        "{count} of the {total} results of {name} match no passage of this workspace (less than "
        "{share:.0%} of their words in a row): {words}.",
    NoticeKind.NO_SHARED_WORD: "No passage has a word of the question.",
    NoticeKind.NO_JOINED_PAIR:
        "No two entities near the keywords are joined by a path of 3 relations that keeps its "
        "resource.",
    NoticeKind.NONE_MET:
        "By the evidence that counts nothing is related to what the question names; let weaker evidence "
        "count, or name something else.",
    NoticeKind.NO_CONDITION:
        "The question names nothing that the graph knows and an answer could be related to; name "
        "something that is in the documents.",
    NoticeKind.ALL_NEGATED:
        "All conditions say what must not hold, which nearly everything meets; add one that must hold.",
    NoticeKind.ONE_CONDITION:
        "The question has one condition, so all that is related to {name} meets it; add another.",
    NoticeKind.CONTRADICTION:
        "{name} is asked for and excluded, which nothing can meet; take one of the two back.",
    NoticeKind.NOTHING_SOUGHT:
        "The question does not say what is sought, so it is whatever its names are related to; begin "
        "with “Who” or “Which”.",
    NoticeKind.NEAREST_TAKEN:
        "The question names nothing that the graph knows; what is nearest in name was taken, a guess.",
    NoticeKind.NOTHING_NAMED:
        "The question names no table, column or value of this database; what is nearest in "
        "meaning was taken.",
    NoticeKind.LONE_SEEDS:
        "seeds without neighbors, which take no mass: {count} of {seeds}",
    NoticeKind.MASS_CAPPED:
        "mass capped at 99.9% of what fits: {wanted:,.4g} units were asked for, all that is connected "
        "to these seeds can hold {room:,.4g}, so {poured:,.4g} were poured and everything is full or "
        "nearly full; choose less mass for a local answer",
    NoticeKind.ALL_TIED: "They are shown equally well: their order says nothing.",
    NoticeKind.UNREAD: "Not read as a condition: {words}.",
    NoticeKind.NAME_EXCLUDED:
        "{name} itself is no answer, as asked; what is related to it may be.",
    NoticeKind.AND_WITH_OR:
        "“{words}” has “and” and “or”: the “or” was taken to join only the names on either side; if you "
        "mean otherwise, ask in two questions.",
    NoticeKind.DESCRIBED:
        "Read as said of the answer itself, though it may be of something between: {words}; where that "
        "matters, ask in two questions.",
    NoticeKind.MASS_CAPPED_THERE:
        "mass capped at {count} of {seeds} seeds: {wanted:,.4g} units were asked for, all that is "
        "connected to these seeds can hold {room:,.4g}, so {poured:,.4g} were poured there",
}


_COUNTED_NOTICES = {
    NoticeKind.MORE_UNKNOWN: (
        "{number} more name of the question is none in these documents.",
        "{number} more names of the question are none in these documents."),
    NoticeKind.FEW_PASSAGES: (
        "With {number} passage in all, any method has it among its first 5: compare what is found in "
        "2, and MRR.",
        "With {number} passages in all, any method has them among its first 5: compare what is found "
        "in 2, and MRR."),
    NoticeKind.FEW_QUESTIONS: (
        "{number} question cannot tell methods apart, whatever differs on it; use {few} or more.",
        "{number} questions cannot tell methods apart, whatever differs on them; use {few} or more."),
    NoticeKind.GOLD_LEFT_OUT: (
        "Left out: {number} question without gold passages.",
        "Left out: {number} questions without gold passages."),
    NoticeKind.ALL_MET: (
        "{number} answer meets every condition that must hold.",
        "{number} answers meet every condition that must hold."),
    NoticeKind.PERHAPS_MET: (
        "No relation meets a condition. {number} answer perhaps meets {met} of {wanted}: the texts name "
        "both together.",
        "No relation meets a condition. {number} answers perhaps meet {met} of {wanted}: the texts name "
        "both together."),
    NoticeKind.TIED: (
        "The first of them is shown best.",
        "The first {number} of them are shown equally well: their order says nothing."),
    NoticeKind.SOME_MET: (
        "Nothing surely meets all {wanted} conditions; {number} answer surely meets {met}.",
        "Nothing surely meets all {wanted} conditions; {number} answers surely meet {met}, equally well."),
}


def word_reason(reason: Reason) -> str:
    """Return all that a method says about a node, in sentences."""
    sentences = [_word_one(part) for part in (reason, *reason.also)]
    return " ".join(filter(None, sentences))


def word_seed(reason: Reason) -> str:
    """Why a node is a seed, as a phrase: "the question names it"."""
    if reason.kind not in _SEEDS:
        return word_reason(reason).rstrip(".")
    return _SEEDS[reason.kind].format(**_worded(reason.values))


def word_cause(reasons: Sequence[Reason]) -> str:
    """Word the cause of some nodes: "they are one hop from Apple", "they rank 7th to 9th in its walk".

    Parameters
    ----------
    reasons : sequence of Reason
        One for each node, in any order, that have the same `Reason.shared`.
    """
    first = reasons[0]
    if first.kind not in _CAUSES:
        return word_reason(first).rstrip(".")
    one, many = _CAUSES[first.kind]
    found = {reason.values["place"] for reason in reasons if "place" in reason.values}
    places = sorted(place for place in found if isinstance(place, int))
    return (one if len(reasons) == 1 else many).format(places=word_places(places), **_worded(first.values))


def word_notice(notice: Notice) -> str:
    """Word a notice about a retrieval."""
    if notice.kind in _COUNTED_NOTICES:
        one, many = _COUNTED_NOTICES[notice.kind]
        return _count(one, many, _worded(notice.values))
    return _NOTICES[notice.kind].format(**_worded(notice.values))


def word_places(places: Sequence[int]) -> str:
    """Ascending ranks: "7th to 9th" only when none between is missing."""
    words = [word_place(place) for place in places]
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{words[0]} to {words[-1]}"
    if len(places) > 3:
        return f"between {words[0]} and {words[-1]}"
    return join_words(words)


def word_place(place: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    if place % 100 in (11, 12, 13):
        return f"{place}th"
    if place % 10 == 1:
        return f"{place}st"
    if place % 10 == 2:
        return f"{place}nd"
    if place % 10 == 3:
        return f"{place}rd"
    return f"{place}th"


def _word_one(reason: Reason) -> str:
    kind, values = reason.kind, _worded(reason.values)
    if kind in _SEEDS:
        return f"Seed: {_SEEDS[kind].format(**values)}."
    if kind in _COUNTED:
        one, many = _COUNTED[kind]
        return _count(one, many, values)
    return _SENTENCES[kind].format(**values)


def _count(one: str, many: str, values: dict[str, object]) -> str:
    number = values.pop("count")
    if not isinstance(number, int):
        raise ValueError("the count is no number")
    return count_words(number, one, many, **values)


def _worded(values: Mapping[str, Value]) -> dict[str, object]:
    """Return the values as a sentence takes them: no period at the end of a name, lists as words."""
    worded: dict[str, object] = {}
    for name, value in values.items():
        if name == "way" and isinstance(value, tuple):
            worded[name] = " → ".join(str(step).rstrip(".") for step in value)
        elif isinstance(value, tuple):
            worded[name] = join_words([str(word) for word in value])
        elif isinstance(value, str) and name != "text":
            worded[name] = value.rstrip(".")
        else:
            worded[name] = value
    return worded
