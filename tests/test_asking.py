"""What is read of a text as the question."""

import pytest

from qafd.graph import Graph
from qafd.models.embedder import LocalEmbedder
from qafd.plan import Planner
from qafd.plan.question import find_asking, parse_question
from qafd.reasons import NoticeKind

QUESTIONS = ("When was the lock gate of the canal rebuilt?", "How many oars does the ferry carry?",
             "Who paid for the roof of the mill, and why?", "Which bell rings before the market opens?")
AROUND = ("Hello! {}", "Good evening. {} Thank you very much!",
          "I only moved here last week. {} Please be brief.",
          "I hope you can help me. I have been looking for hours. {} Have a nice day.")
BEFORE = ("Could you tell me {}", "Please explain to me {}", "I would like to know {}", "Do you know {}")


def asking(text, *names):
    return find_asking(parse_question(text), lambda _: [text.index(name) for name in names])


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("around", AROUND)
def test_what_stands_around_a_question_is_not_read(question, around):
    assert asking(around.format(question)) == question


@pytest.mark.parametrize("clause", ["where the gate was moved?", "how many oars the ferry carries.",
                                    "in which year the mill burned down", "whether dogs are allowed?"])
@pytest.mark.parametrize("before", BEFORE)
def test_the_clause_that_is_asked_is_read(before, clause):
    assert asking(before.format(clause)) == clause


@pytest.mark.parametrize("text", [
    *QUESTIONS,
    "The ferry has a leak. How is it mended in the dock?",  # "it" is the ferry
    "The mill and the forge were built in one year. Which of both buildings burned down first?",
    "We have rowed here for twelve years. Which fee does the club take from families?",
    "I lost my key. Who helps?",  # too little by itself
    "Do I pay when I leave the marina?",  # not asked is when
    "Who knows where the treasure is buried?",
    "Tell me about the lock gate. Be brief.",  # no question
    "The lock gate",
    "Are you there when the ferry leaves?",  # nothing is requested
    "Good oars cost 40 crowns. Who sells them at the market by the bridge?",  # numbers are compared
])
def test_what_a_question_needs_stays(text):
    assert asking(text) == text


@pytest.mark.parametrize(("text", "named", "themes"), [
    ("Who sailed the Grey Heron to Port Anson?", ["Grey Heron", "Port Anson"], ("sailed",)),
    ("Where does Mr. Osei keep spare oars?", ["Osei"], ("Mr", "spare oars")),
    ("Describe Ada Quoll's boats", ["Ada Quoll's"], ("Describe", "boats")),
    ("Which HBX-operated ferry leaks?", ["HBX"], ("ferry leaks",)),
    ("Was Kim Jong-un there after I've left?", ["Kim Jong-un"], ("left",)),
    ("Where's Ben? On May 5, 2031?", ["Ben"], ()),
    ("Who is Will Quoll?", ["Will Quoll"], ()), ("What is The Grey Heron?", ["The Grey Heron"], ()),
    ("WHO SAILED THE GREY HERON?", [], ("SAILED", "GREY HERON")),
    ("who sailed the grey heron", [], ("sailed", "grey heron")),
])
def test_names_have_capitals_and_themes_are_the_words_between(text, named, themes):
    parse = parse_question(text)
    assert [phrase.text for phrase in parse.named] == named
    assert [text[phrase.start:phrase.end] for phrase in parse.named] == named
    assert parse.themes == themes


@pytest.mark.parametrize(("text", "word", "thing"), [
    ("Where is the glacier?", "glacier", True), ("Are lanterns lit?", "lanterns", True),
    ("Which lanterns leak?", "lanterns", False), ("Does anybody row?", "anybody", False),
    ("What does the zeppelinade need?", "zeppelinade", True), ("Who founded it?", "founded", False),
    ("Who runs the ferry?", "runs", False), ("How heavy is the bell?", "heavy", False),
    ("What is the cost of oars?", "cost", True),
    ("What does it cost?", "cost", False), ("Where does Mr. Osei live?", "osei", True),
    ("Where does Mr. Osei live?", "live", False), ("Was it on 2031-04-05?", "2031", False),
    ("Wer baute die Schleuse am Kanal?", "baute", False),
])
def test_names_and_nouns_are_things(text, word, thing):
    assert parse_question(text).names_thing(word) == thing


@pytest.mark.parametrize(("text", "extreme"), [
    ("Which is the largest dock?", True), ("Who has the most oars?", True), ("Which ferry is best?", True),
    ("Which is the biggest?", True), ("Who owns the forest?", False), ("Is Ben honest?", False),
    ("Which guest came last?", False), ("Welches Haus ist am größten?", False)])
def test_superlatives_are_forms_of_adjectives(text, extreme):
    assert parse_question(text).is_extreme == extreme


def test_a_sentence_with_a_known_name_stays():
    text = "I met Ada Quoll. Which ferry carries most oars? Greet Ben."
    assert asking(text) == "Which ferry carries most oars?"
    assert asking(text, "Ada Quoll") == "I met Ada Quoll. Which ferry carries most oars?"


def test_a_plan_is_that_of_the_question_and_says_so():
    graph = Graph.build(["e:mill", "p:1"], names=["Mill", "Notes"], kinds=["entity", "passage"])
    planner = Planner(graph, LocalEmbedder())
    plain, polite = planner.plan("Who owns the Mill?"), planner.plan("Hi! Who owns the Mill? Many thanks.")
    assert (polite.words, polite.names) == (plain.words, plain.names)
    assert polite.question == "Hi! Who owns the Mill? Many thanks."
    assert (polite.embedding == plain.embedding).all()
    (told,) = [one for one in polite.notices if one.kind == NoticeKind.READ_IN_PART]
    assert told.values == {"text": "Who owns the Mill?"}
    assert not [one for one in plain.notices if one.kind == NoticeKind.READ_IN_PART]


def test_of_a_graph_without_passages_all_is_asked():
    planner = Planner(Graph.build(["e:mill"], names=["Mill"], kinds=["entity"]), LocalEmbedder())
    assert planner.plan("Who owns the Mill? List all names.").words == "Who owns the Mill? List all names."
