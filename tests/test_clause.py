"""Predicates said of one node or of several."""

import pytest

from qafd.clause import clause, gist, ordinal, ranks


@pytest.mark.parametrize(("number", "said"), [
    (1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"),
    (13, "13th"), (21, "21st"), (102, "102nd"), (111, "111th"), (1003, "1003rd")])
def test_ordinals_are_those_of_english(number: int, said: str) -> None:
    assert ordinal(number) == said


@pytest.mark.parametrize(("predicates", "said"), [
    (["is one hop from Apple"], "it is one hop from Apple"),
    (["is one hop from Apple"] * 2, "they are one hop from Apple"),
    (["belongs to it"] * 2, "they belong to it"),
    (["ranks 7th by BM25"], "it ranks 7th by BM25"),
    (["ranks 9th by BM25", "ranks 7th by BM25"], "they rank 7th and 9th by BM25"),
    (["ranks 10th by BM25", "ranks 9th by BM25", "ranks 11th by BM25"],
     "they rank 9th to 11th by BM25"),
    (["ranks 3rd by BM25", "ranks 40th by BM25", "ranks 7th by BM25"],
     "they rank 3rd, 7th and 40th by BM25"),
    (["ranks 3rd by BM25", "ranks 9th by BM25", "ranks 7th by BM25", "ranks 40th by BM25"],
     "they rank between 3rd and 40th by BM25"),
    (["is near X, which ranks 2nd by BM25"] * 2, "they are near X, which ranks 2nd by BM25")])
def test_a_clause_agrees_with_the_number_of_its_nodes(predicates: list[str], said: str) -> None:
    assert clause(predicates) == said


def test_only_the_rank_of_the_node_itself_is_left_out_of_what_nodes_share() -> None:
    assert gist(ranks(3, "by BM25")) == gist(ranks(21, "by BM25"))
    assert gist(ranks(3, "by BM25")) != gist(ranks(3, "by similarity"))
    mentioned = "is mentioned in A, which ranks 2nd by BM25"
    assert gist(mentioned) == mentioned
