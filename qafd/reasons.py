"""Reasons for nodes and notices of methods: kinds with their values, without sentences.

`qafd.wording.reasons` words them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Value = str | int | float | tuple[str, ...] | tuple[int, ...]


class ReasonKind(StrEnum):
    """Why a node was found; behind each kind the values it has.

    `place` is a rank from 1; `name`, `word`, `title` and `text` are those of something else than
    the node itself.
    """

    GIVEN = "given"  # text: a sentence that came with the node
    RANKED = "ranked"  # place, among the passages of its method
    FOREIGN = "foreign"  # name of a retriever from outside, score, place, count
    BROUGHT_BY = "brought_by"  # diffusions: numbers from 1
    # Seeds
    NAMED = "named"
    STANDS_FOR_NAME = "stands_for_name"
    NEAR_KEYWORD = "near_keyword"  # score, word; rivals of a condition
    NEAR_QUESTION = "near_question"  # score
    NEAREST_NAME = "nearest_name"  # score
    NEAR_BY_MEANING = "near_by_meaning"  # place
    NEAR_BY_MEANING_AND_WORDS = "near_by_meaning_and_words"  # place
    HOLDS_VALUE = "holds_value"  # text
    CHOSEN = "chosen"
    NO_NEIGHBORS = "no_neighbors"
    # Flow diffusion
    FILLED_FROM = "filled_from"  # name
    TOUCHED_FROM = "touched_from"  # name
    UNREACHED = "unreached"
    PUSHED_TO = "pushed_to"  # place, score
    # Random walks
    WALK_SHARE = "walk_share"  # share, place
    WALK_FROM = "walk_from"  # name
    WALK_FROM_PASSAGE = "walk_from_passage"  # name
    WALK_FROM_QUESTION = "walk_from_question"  # place
    THROUGH_SENTENCE = "through_sentence"  # name, cosine, score
    SENTENCE_USED = "sentence_used"  # cosine
    # Communities
    IN_COMMUNITY = "in_community"  # title, community, place, similarity
    COMMUNITY_NAMED = "community_named"  # count
    NEAR_ENTITY = "near_entity"  # place
    COMMUNITY_LEFT_OUT = "community_left_out"
    # Neighbors and relations
    ONE_HOP = "one_hop"  # name
    RELATION_END = "relation_end"  # word, place, cosine
    FACT_END = "fact_end"  # name, place, cosine
    OTHER_END = "other_end"  # name
    # Paths
    ON_PATH = "on_path"  # first, last, way, place, score
    NO_PATH = "no_path"
    # Energy
    ON_FLOW_PATH = "on_flow_path"  # first, last, way, place, count, score
    IN_SENTENCE = "in_sentence"  # text, place, cosine
    IN_SUMMARY = "in_summary"  # text, place, cosine
    NEAR_SENTENCE = "near_sentence"  # place, cosine, count
    NEAR_SUMMARY = "near_summary"  # place, cosine, count
    ENERGY = "energy"  # energy
    ENERGY_FROM = "energy_from"  # name, energy
    # Passages and summaries by score
    BY_MEANING = "by_meaning"  # place, count, score
    BY_WORDS = "by_words"  # place, count, score, words
    BY_MEANING_AND_WORDS = "by_meaning_and_words"  # place, count, meaning, weight, lexical
    MENTIONED_BY = "mentioned_by"  # title, place
    IN_TREE = "in_tree"  # place, cosine
    BELOW_SUMMARY = "below_summary"  # title, cosine
    SUMS_UP = "sums_up"  # text, level, count
    COSINE = "cosine"  # cosine
    # Conditions of the question
    HELD_BY = "held_by"  # filled, wanted, least: share of its capacity
    HELD = "held"  # name of a condition, share
    MEETS = "meets"  # met: surely, perhaps, wanted, strength
    MET_BY_RELATION = "met_by_relation"  # name, text, passage: its node
    MET_IN_SENTENCE = "met_in_sentence"  # name, text, passage
    MET_IN_PASSAGE = "met_in_passage"  # name, passage
    NOT_MET = "not_met"  # name
    NOT_RELATED = "not_related"  # name, of a negated condition


@dataclass(frozen=True)
class Reason:
    """A method's reason for a node, with its values and further reasons."""

    kind: ReasonKind
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)
    also: tuple["Reason", ...] = ()

    @property
    def shared(self) -> tuple[object, ...]:
        """The common part of nodes with one cause: the kind and its words, not numbers."""
        words = {name: value for name, value in self.values.items() if isinstance(value, str)}
        return self.kind, *sorted(words.items())


    @property
    def brings(self) -> bool:
        """True for a reason of a retrieval, not only of a method's progress."""
        return self.kind not in _NOT_BROUGHT


_NOT_BROUGHT = frozenset((
    ReasonKind.TOUCHED_FROM, ReasonKind.UNREACHED, ReasonKind.SENTENCE_USED, ReasonKind.ENERGY,
    ReasonKind.ENERGY_FROM, ReasonKind.COSINE))

UNSTATED = Reason(ReasonKind.GIVEN, {"text": ""})


class NoticeKind(StrEnum):
    """Kinds of notices about a whole retrieval; after each kind its values."""

    GIVEN = "given"  # text
    NO_SEED = "no_seed"
    NO_SOURCE = "no_source"
    NO_SHARED_WORD = "no_shared_word"
    FOREIGN_EMPTY = "foreign_empty"  # name
    FOREIGN_UNMATCHED = "foreign_unmatched"  # name, count, total, share, results: how they begin
    NO_JOINED_PAIR = "no_joined_pair"
    NOTHING_NAMED = "nothing_named"
    LONE_SEEDS = "lone_seeds"  # count, seeds
    MASS_CAPPED = "mass_capped"  # wanted, room, poured
    MASS_CAPPED_THERE = "mass_capped_there"  # count, seeds, wanted, room, poured
    ALL_MET = "all_met"  # count, met, wanted
    SOME_MET = "some_met"  # count, met, wanted
    PERHAPS_MET = "perhaps_met"  # count, met, wanted
    TIED = "tied"  # count
    ALL_TIED = "all_tied"
    NONE_MET = "none_met"
    NO_CONDITION = "no_condition"
    ALL_NEGATED = "all_negated"
    ONE_CONDITION = "one_condition"  # name
    CONTRADICTION = "contradiction"  # name
    NOTHING_SOUGHT = "nothing_sought"
    NEAREST_TAKEN = "nearest_taken"  # in runs that earlier versions kept
    UNREAD = "unread"  # words: of the question, or names, that are in no condition
    NAME_EXCLUDED = "name_excluded"  # name
    AND_WITH_OR = "and_with_or"  # words; in runs that earlier versions kept
    DESCRIBED = "described"  # words; in runs that earlier versions kept
    # Of how a question was read
    QUESTION_CUT = "question_cut"  # count, read
    READ_IN_PART = "read_in_part"  # text
    NO_NAME_KNOWN = "no_name_known"
    NOT_ENGLISH = "not_english"
    READ_WITHOUT = "read_without"  # model, text
    THEN_ASKED = "then_asked"  # text
    NOT_ASKED_FURTHER = "not_asked_further"  # model, text
    NAME_UNKNOWN = "name_unknown"  # name
    NAME_IN_PART = "name_in_part"  # name, part
    NAME_SHORT = "name_short"  # name, other
    NAME_SHARED = "name_shared"  # name, names
    NAME_ALIKE = "name_alike"  # name, other
    WORD_ALIKE = "word_alike"  # name, other
    NAME_NEAR = "name_near"  # name, other, similarity
    MORE_UNKNOWN = "more_unknown"  # count
    # Of an evaluation
    ENDED_EARLY = "ended_early"  # done, asked, text
    NOT_ALL_JUDGED = "not_all_judged"  # text
    FEW_PASSAGES = "few_passages"  # count
    FEW_QUESTIONS = "few_questions"  # count, few
    GOLD_LEFT_OUT = "gold_left_out"  # count
    GOLD_UNKNOWN = "gold_unknown"  # missing, all, names


@dataclass(frozen=True)
class Notice:
    """One thing to know about a retrieval, with its values."""

    kind: NoticeKind
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)


def reason(kind: ReasonKind, *also: Reason, **values: Value) -> Reason:
    """Return a reason from its values, and further ones behind it."""
    return Reason(kind, values, also)


def given_reason(text: str) -> Reason:
    """Return a sentence that came with a node as its reason."""
    return reason(ReasonKind.GIVEN, text=text)


def notice(kind: NoticeKind, **values: Value) -> Notice:
    """Return a notice from its values."""
    return Notice(kind, values)
