"""Names of questions in small graphs; what is alike is checked against comparing all names."""

import random

import numpy as np
import pytest
from rapidfuzz.distance import OSA

from qafd.graph import Graph
from qafd.plan.linking import Names, is_misspelled, link_names, names_of
from qafd.plan.question import parse_question
from qafd.plan.spelling import Vocabulary
from qafd.reading.text import canonical
from qafd.reasons import NoticeKind, notice


def names_in(*names, vectors=None):
    return Names(Graph.build([str(i) for i in range(len(names))], names=names,
                             kinds=["entity"] * len(names), vectors=vectors, name_vectors=vectors))


def linked(names, question, vector=(1.0, 0.0)):
    """The links of a question all of whose names have one vector."""
    parse = parse_question(question)
    return link_names(parse, names, names.find(question, parse.common),
                      lambda _: np.array(vector, np.float32))


@pytest.mark.parametrize(("second", "stands"), [(0.81, True), (0.79, False)])
def test_by_its_vector_a_name_stands_for_another_from_the_threshold_on(second, stands):
    near = np.array([[0.0, 1.0], [second, (1 - second**2) ** 0.5]], np.float32)
    links = linked(names_in("Rome", "Ada Byron", vectors=near), "Who was Countess Lovelace?")
    assert links.keys == (("ada byron",) if stands else ())
    (told,) = links.notices
    assert told.kind == (NoticeKind.NAME_NEAR if stands else NoticeKind.NAME_UNKNOWN)
    assert told.values["name"] == "Countess Lovelace"


def test_one_word_of_a_name_means_its_only_bearer():
    names = names_in("Pavel Novak", "Jana Novak", "Pavelka Hall")
    links = linked(names, "What did Pavel repair?")
    assert (links.keys, links.read) == (("pavel novak",), "What did Pavel repair?")
    assert links.notices == (notice(NoticeKind.NAME_SHORT, name="Pavel", other="Pavel Novak"),)
    links = linked(names_in("Pavel Bridge"), "What did Pavel repair?")
    assert (links.keys, [one.kind for one in links.notices]) == ((), [NoticeKind.NAME_SHARED])
    links = linked(names, "What did Novak repair?")
    assert links.keys == ()
    assert links.notices == (notice(NoticeKind.NAME_SHARED, name="Novak",
                                    names="Jana Novak, Pavel Novak"),)


@pytest.mark.parametrize(("question", "told"), [
    ("Where did Zorbl live?", (NoticeKind.NAME_UNKNOWN, {"name": "Zorbl"})),
    ("Where is the Bridge?", None),  # which a dictionary has
    ("Where did Countess Lovelace live?", (NoticeKind.NAME_UNKNOWN, {"name": "Countess Lovelace"})),
    ("What did Ada Zorbl's mill cost?", (NoticeKind.NAME_IN_PART, {"name": "Ada Zorbl", "part": "Ada"})),
    ("What did Countess Ada own?", None),
    ("Where did Ada paly?", None),  # a small letter
    ("Where did Zorbl-Quon live?", (NoticeKind.NAME_UNKNOWN, {"name": "Zorbl-Quon"}))])
def test_a_name_that_no_entity_has_is_told_unless_a_dictionary_has_its_words(
        question, told):
    notices = linked(names_in("Ada", "Rome"), question).notices
    assert [(one.kind, one.values) for one in notices] == ([told] if told else [])


@pytest.mark.parametrize("mentioned", [True, False])
def test_a_name_that_passages_mention_is_not_told_unknown(mentioned):
    question = "Where is Port Anson?"
    asked = []

    def heard(text):
        asked.append(text)
        return mentioned

    links = link_names(parse_question(question), names_in("Ada"), [], lambda _: np.ones(2, np.float32),
                       Vocabulary(heard))
    assert asked[0] == '"Port Anson"'  # as a phrase
    assert [one.kind for one in links.notices] == ([] if mentioned else [NoticeKind.NAME_UNKNOWN])


def test_unknown_names_beyond_four_are_counted():
    told = linked(names_in("Ada"), "Did Aaxy, Bbxy, Ccxy, Ddxy, Eexy and Ffxy live in Ggxy?").notices
    assert [one.kind for one in told] == [NoticeKind.NAME_UNKNOWN] * 4 + [NoticeKind.MORE_UNKNOWN]
    assert told[-1].values == {"count": 3}


def test_a_word_of_the_dictionary_is_not_short_for_a_name():
    assert linked(names_in("Greenock Education"), "Who was Minister for Education?").keys == ()


@pytest.mark.parametrize("question", [
    "Where is the Livesey {} Memorial?", 'Who wrote "The Livesey {} Memorial"?'])
def test_a_name_put_right_keeps_the_article_of_the_question(question):
    links = linked(names_in("The Livesey Hall Memorial"), question.format("Hal"))
    assert (links.read, links.keys) == (question.format("Hall"), ("livesey hall memorial",))


def test_a_small_word_that_no_passage_has_is_a_name_by_a_slip():
    question, names = parse_question("where is gernoble?"), names_in("Grenoble")
    for heard, read, keys in ((False, "where is grenoble?", ("grenoble",)), (True, question.text, ())):
        links = link_names(question, names, [], lambda _: np.ones(2, np.float32),
                           Vocabulary(lambda _, heard=heard: heard))
        assert (links.read, links.keys) == (read, keys)


@pytest.mark.parametrize("question", ["Which film is primarily in English?",
                                      "Which English film is it?"])
def test_a_language_is_known_without_the_word(question):
    links = linked(names_in("English Language", "Ada Byron"), question)
    assert (links.keys, links.notices) == (("english language",), ())


def test_a_stand_in_is_written_without_its_article():
    links = linked(names_in("Rome", "Ada Byron", vectors=np.array([[0, 1], [1, 0]], np.float32)),
                   "Who was the Countess Lovelace?")
    assert tuple(links.written) == (("Countess Lovelace", "ada byron"),)


def test_a_company_is_not_the_person_of_its_name_where_the_graph_has_both():
    names = names_in("Mara Vale", "The Mara Vale Company [7]")
    found = [key for key, _, _ in names.matches("Who left the Mara Vale Company to Mara Vale?")]
    assert found == ["mara vale company [7]", "mara vale"]


def test_names_are_found_in_the_plural_where_it_is_wanted():
    names, question = names_in("Silver Medal", "Film"), "Which films won silver medals?"
    assert [key for key, _, _ in names.matches(question, plural=True)] == ["film", "silver medal"]
    assert not list(names.matches(question))


@pytest.mark.parametrize("seed", range(3))
def test_the_most_alike_name_is_the_one_that_comparing_all_finds(seed):
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
        found = names.alike(key)
        if not found:
            continue
        hits += 1
        spelled = {canonical(name): name.casefold().replace("é", "e") for name in known}
        slips = {one: OSA.distance(plain, name) for one, name in spelled.items()
                 if is_misspelled(plain, name)}
        assert [one for one in slips if slips[one] == min(slips.values())] == [found]
        assert slips[found] <= (max(1, 0.15 * len(plain)) if " " in key else 2)
    assert 2 < hits < 60


@pytest.mark.parametrize(("typed", "found"), [
    ("Ada Byrno", "ada byron"),  # one slip in nine letters
    ("Ada Brno", ""),  # two slips
    ("gernoble", "grenoble"), ("grenobel", "grenoble"), ("grenble", "grenoble"), ("grenblo", ""),
    ("Hale", ""),  # short
    ("valens", "")])  # as near to two names
def test_of_a_name_as_few_letters_may_be_wrong_as_its_length_allows(typed, found):
    names = names_in("Ada Byron", "Grenoble", "Halle", "Valene", "Valons")
    assert names.alike(canonical(typed)) == found


def test_the_names_of_a_graph_are_made_once_with_and_without_its_edits():
    graph = Graph.build(["a", "b"], names=["Kew Gardens", "Leer"], kinds=["entity"] * 2)
    plain, edited = names_of(graph), names_of(graph, {"the park": "kew gardens"})
    assert plain is names_of(graph) is not edited
    assert edited is names_of(graph, {"the park": "kew gardens"})
    assert (plain.get("the park"), edited.get("the park")) == (None, "kew gardens")
    assert names_of(graph, {"the park": "leer"}).get("the park") == "leer"
