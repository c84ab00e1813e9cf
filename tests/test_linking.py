"""Names of questions in small graphs; what is alike is checked against difflib on all names."""

import random
from difflib import SequenceMatcher

import numpy as np
import pytest

from qafd.graph import Graph
from qafd.plan.linking import (
    ALIKE,
    ALIKE_WORD,
    Links,
    Names,
    entities_named,
    named_in,
    slips_between,
)
from qafd.reading.names import tagger
from qafd.reading.text import canonical


def names_in(*names: str, vectors: np.ndarray | None = None) -> Names:
    return Names(Graph.build([str(i) for i in range(len(names))], names, ["entity"] * len(names),
                             vectors=vectors, name_vectors=vectors))


def linked(names: Names, question: str, vector: tuple[float, ...] = (1.0, 0.0)) -> Links:
    """The links of a question all of whose names have one vector."""
    nlp, _ = tagger()
    named = list(named_in(nlp(question)))
    vectors = {canonical(span.text): np.array(vector, np.float32) for span in named}
    return names.link(question, named, names.find(question, nlp.Defaults.stop_words), vectors,
                      nlp.Defaults.stop_words)


def test_a_misspelled_person_is_not_the_part_of_the_name_that_is_known() -> None:
    links = linked(names_in("Jordan", "Michael Jordan"), "Where was Micheal Jordan born?")
    assert links.keys == ("michael jordan",)
    assert links.notices == ("\u201cMicheal Jordan\u201d is no name in these documents; "
                             "Michael Jordan stands for it (spelled alike).",)
    assert links.read == "Where was Michael Jordan born?"


def test_what_is_read_keeps_all_but_the_misspelled_names() -> None:
    names = names_in("Michael Jordan", "Scottie Pippen")
    links = linked(names, "Is Micheal Jordan's team that of Scotie Pippen and Magic Johnson?")
    assert links.read == "Is Michael Jordan's team that of Scottie Pippen and Magic Johnson?"
    assert linked(names, "Where was Michael Jordan?").read == "Where was Michael Jordan?"


def test_a_name_with_its_place_is_also_called_without_where_that_is_clear() -> None:
    names = names_in("Grant Park, Atlanta", "Grant Park, Chicago", "Union Mill, Leeds", "Old Mill",
                     "Old Mill, Bath", "Paris, Texas")
    keys = linked(names, "Is Union Mill older than Old Mill and Grant Park in Paris?").keys
    assert keys == ("union mill, leeds", "old mill")


def test_misspelled_names_are_found_where_nothing_has_a_capital() -> None:
    names = names_in("Michael Jordan", "Grand Forks Air Base", "Chicago Bulls")
    links = linked(names, "did micheal jordan visit the grand fork air base?")
    assert links.keys == ("michael jordan", "grand forks air base")
    assert [said.split(";")[0] for said in links.notices] == [
        "\u201cmicheal jordan\u201d is no name in these documents",
        "\u201cgrand fork air base\u201d is no name in these documents"]
    assert links.read == "did michael jordan visit the grand forks air base?"
    assert linked(names, "did chicago bulls beat micheal jordan?").keys == ("chicago bulls",)


def test_without_one_spelled_alike_the_part_stays_and_that_is_said() -> None:
    links = linked(names_in("Jordan", "Chicago"), "Where was Micheal Jordan born?")
    assert links.keys == ("jordan",)
    assert links.notices == (
        "\u201cMicheal Jordan\u201d is no name in these documents, only Jordan is.",)


@pytest.mark.parametrize(("second", "stands"), [(0.81, True), (0.79, False)])
def test_by_its_vector_a_name_stands_for_another_from_the_threshold_on(
        second: float, stands: bool) -> None:
    near = np.array([[0.0, 1.0], [second, (1 - second**2) ** 0.5]], np.float32)
    links = linked(names_in("Rome", "Ada Byron", vectors=near), "Who was Countess Lovelace?")
    assert links.keys == (("ada byron",) if stands else ())
    assert links.notices == (
        "\u201cCountess Lovelace\u201d is no name in these documents"
        + ("; Ada Byron stands for it (similarity 0.81)." if stands else "."),)


def test_a_known_name_that_the_search_missed_is_linked_in_silence() -> None:
    # A hyphen joins it to the word before, so the search by words does not see it.
    links = linked(names_in("United Kingdom", "Oslo"),
                   "How were the Russia-United Kingdom relations after Oslo?")
    assert "united kingdom" in links.keys
    assert not any("United Kingdom" in said for said in links.notices)


@pytest.mark.parametrize("seed", range(3))
def test_the_most_alike_name_is_the_one_that_comparing_all_finds(seed: int) -> None:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdeéø1", k=rng.randint(2, 7))) for _ in range(60)]
    known = sorted({f"{rng.choice(words)} {rng.choice(words)}".title() for _ in range(150)})
    names = names_in(*known)
    hits = 0
    for _ in range(60):
        asked = list(rng.choice(known).casefold())
        for _ in range(rng.randint(1, 3)):
            asked[rng.randrange(len(asked))] = rng.choice("abcde ")
        key = canonical("".join(asked))
        plain = key.replace("é", "e")
        least = ALIKE if " " in key else ALIKE_WORD
        ratios = {name: SequenceMatcher(None, name.casefold().replace("é", "e"), plain).ratio()
                  for name in known}
        best, found = max(ratios.values()), names.alike(key)
        shown = {canonical(name): name for name in known}
        assert not found or (best >= least and (" " in key or len(key) >= 6))
        hits += bool(found)
        assert not found or ratios[shown[found]] == best
    assert 2 < hits < 60


@pytest.mark.parametrize(("typed", "found"), [
    ("reykjavick", "reykjavik"),  # 2 * 9 / 19 letters
    ("austria", ""),  # australia: 2 * 7 / 16, a country of its own
    ("oslp", "")])  # too short to tell
def test_single_words_must_be_more_alike(typed: str, found: str) -> None:
    assert names_in("Reykjavik", "Australia", "Oslo").alike(typed) == found


def test_another_form_of_a_word_is_no_slip() -> None:
    assert names_in("Axial compression").alike("axial compressor") == ""
    assert names_in("Axial compressor").alike("axial compresor") == "axial compressor"


def test_no_name_is_alike_in_an_empty_graph() -> None:
    assert names_in().alike("michael jordan") == ""


def test_gold_names_are_looked_up_without_stand_ins() -> None:
    graph = Graph.build(["a"], ["Michael Jordan"], ["entity"])
    assert entities_named(graph, ["Micheal Jordan"]) == {}


def unheard(names: Names, question: str, said: str = "") -> Links:
    """The links of a question without a tagger's names, to texts of some words."""
    nlp, _ = tagger()
    common = nlp.Defaults.stop_words
    return names.link(question, [], names.find(question, common), {}, common,
                      lambda word: word in said.split())


@pytest.mark.parametrize(("question", "read"), [
    ("Who founded Hydrals?", "Who founded Hydralis?"),  # a letter left out
    ("Who founded Hidralis?", "Who founded Hydralis?"),  # changed
    ("Who founded Hydrralis's labs?", "Who founded Hydralis's labs?"),  # put in
    ("who owns aquapour", "who owns aquapor"),
    ("Where is Gernoble?", "Where is Grenoble?"),  # exchanged
    ("Where is Reykjawick?", "Where is Reykjavik?")])  # two slips in ten letters
def test_a_word_in_no_passage_is_the_name_that_it_is_by_a_slip(question: str, read: str) -> None:
    names = names_in("Hydralis", "Aquapor", "Grenoble", "Reykjavik", "Hydralis Works")
    links = unheard(names, question)
    assert links.read == read
    assert len(links.keys) == 1
    assert links.notices[0].endswith("stands for it (spelled alike).")
    assert unheard(names, question, " ".join(question.casefold().rstrip("?").replace(
        "'s", "").split())).keys == ()


@pytest.mark.parametrize("question", [
    "Who owns Hydral?",  # two slips in six letters
    "Who owns Rimskis?",  # as near to Rimskij as to Rimskik
    "Was there a garden?",  # a common word, not Gardena
    "Is Oslp a town?"])  # too short
def test_a_word_that_may_be_another_stands_for_nothing(question: str) -> None:
    names = names_in("Hydralis", "Rimskij", "Rimskik", "Gardena", "Oslo")
    links = unheard(names, question)
    assert (links.keys, links.read, links.notices) == ((), question, ())


@pytest.mark.parametrize(("one", "other", "slips"), [
    ("hydrals", "hydralis", 1), ("gernoble", "grenoble", 1), ("kitten", "sitting", 3),
    ("", "abc", 3), ("same", "same", 0), ("ca", "abc", 3)])
def test_slips_are_counted_as_by_hand(one: str, other: str, slips: int) -> None:
    assert slips_between(one, other) == slips_between(other, one) == slips
