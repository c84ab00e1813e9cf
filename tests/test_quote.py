"""Quoted answers: which sentences are chosen, how likely the first is, and what no sentence can answer."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from qafd.answer import UNSURE, Answer, Likelihood
from qafd.answer.chooser import (
    FEATURES,
    Candidate,
    ChoiceModel,
    _find_leads,
    _share,
    _weigh_words,
    rate_sentences,
)
from qafd.answer.quote import _is_statement, find_cell, find_near, read_candidates
from qafd.cli.answering import answer_lines
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.plan.kinds import Asked, Beyond, find_asked, find_beyond, rate_kind
from qafd.plan.question import parse_question
from qafd.records import node_id
from qafd.retrieve.base import RetrievedPassage
from qafd.storage.rows import SentenceName

FERRY = {
    "ferry.md": "# The ferry\n\nThe ferry to Vlieland sails from Harlingen at nine in the morning. A ticket "
                "to Vlieland costs 31 euros. Dogs travel free of charge. Ada Brenner founded the ferry line "
                "in 1931. She sold it to Hugo Lind in 1958.",
    "boats.md": "# Boats\n\nThe Grebe carries 120 passengers and the Heron carries 80 passengers. The Grebe "
                "was built in Leer. The Heron was built in Sneek. Neither boat sails in a storm.",
    "mill.md": "# The mill\n\nWhen does the mill open? It opens at ten, except on Mondays. The mill grinds "
               "rye. The mill grinds oats. The mill grinds wheat. The mill grinds barley."}

BEYOND = {
    Beyond.SUMMARY: (
        "Summarize the history of the ferry.", "What are the main themes of these documents?",
        "Give me an overview of the boats.", "What is the gist of the ferry page?", "Summarise the page.",
        "What are the key points about the mill?", "What are the main topics here?",
        "Write a summary about Ada Brenner.", "Overall, how is the ferry line run?",
        "What are the key findings about the boats?"),
    Beyond.TOTAL: (
        "How many passengers do the boats carry in total?", "What is the average price of a ticket?",
        "Which boat carries the most passengers?", "Which grain is ground most often?",
        "How many boats are there?", "What is the total number of passengers?",
        "Which boat has the fewest passengers?", "How many documents mention the ferry?",
        "What is the median price of a ticket?", "What do all tickets cost altogether?"),
    Beyond.COMPARISON: (
        "Compare the Grebe with the Heron.", "What is the difference between the Grebe and the Heron?",
        "What do the Grebe and the Heron have in common?", "How do the Grebe and the Heron differ?",
        "Is the Grebe better than the Heron?", "Grebe versus Heron: which is it?",
        "Were the Grebe and the Heron both built in Leer?", "Is the Grebe the same as the Heron?",
        "How is the Grebe different from the Heron?", "Is the Heron worse than the Grebe?"),
    Beyond.NEGATION: (
        "Does the Grebe not sail in a storm?", "Can I take the ferry without a ticket?",
        "Did Ada Brenner never sell the line?", "Isn't the Heron built in Sneek?",
        "Which grain is ground other than rye?", "Is the mill not open on Mondays?",
        "Who ran the ferry line besides Ada Brenner?", "On which days does the mill open, except Monday?",
        "Doesn't the ferry carry dogs?", "Does neither boat sail?"),
    Beyond.SEVERAL: (
        "Introduce the boats of the line.", "List the grains.", "Describe the ferry line.",
        "Introduce Steve Jobs's products in Apple.", "Which boats are there?"),
    Beyond.CLOSED: (
        "Are dogs allowed?", "Do dogs travel free?", "Is rye ground in the mill?",
        "Was the Grebe built in Leer?",
        "Does the ferry sail at nine?", "Did Hugo Lind buy the line?", "Can I take my dog to Vlieland?",
        "Has the mill an open day?", "Hello! Does the mill grind oats? Thank you.",
        "Ist der Grebe in Leer gebaut?")}


@pytest.fixture(scope="module")
def ferry(tmp_path_factory):
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("ferry") / "ferry.db")
    for name, text in FERRY.items():
        knowledge.add_text(name, text)
    return knowledge


ROW = "Town: Bodo\nHead of sales: Per Lund\nPumps sold: 12\nPumps kept: 3"


@pytest.mark.parametrize(("row", "question", "asked"), [
    (ROW, "Who is the head of sales in Bodo?", 1), (ROW, "How many pumps were sold in Bodo?", 2),
    (ROW, "Which town has Per Lund as head?", 0),
    (ROW, "In which town is Per Lund head of sales?", 0), (ROW, "How many pumps are in Bodo?", -1),
    (ROW, "Who is Per Lund?", -1), ("Name: Tove\nBoat: Silver Gull", "What is the name of the boat?", 1),
    ("Name: Tove\nBoat: Silver Gull", "What is the name?", 0),
    ("The head of Bodo is Per Lund.", "Who is the head of Bodo?", -1)])
def test_the_asked_cell_is_that_whose_column_is_named_and_value_is_not(row, question, asked):
    assert find_cell(row, question) == asked


REVIEW = "Product: Pump HX60\nCustomer: Per Dahl\nRating: 5\nReview date: 2024-05-03\nShop: Bodo"


@pytest.mark.parametrize(("question", "column"), [
    ("Who reviewed Pump HX60?", 1), ("When did Per Dahl review it?", 3), ("Where was it bought?", 4),
    ("What rating did Per Dahl give?", 2), ("How many stars has it?", -1), ("Why did he complain?", -1)])
def test_the_asked_cell_has_the_kind_of_thing_asked_for(question, column):
    names = (SentenceName("a", "Per Dahl", "person"), SentenceName("b", "Bodo", "gpe"))
    assert find_cell(REVIEW, question, names) == column


def test_a_short_sentence_without_spaces_can_be_quoted(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "zh.db")
    knowledge.add_text("zh.txt", "王小明于1982年毕业于北京大学物理系。\n\n"
                                 "李丽出生于苏州。她在清华大学获得博士学位。")
    assert knowledge.answer("李丽出生于哪里？").sentences[0].text == "李丽出生于苏州。"


@pytest.mark.parametrize(("question", "beyond"), [
    ("Which town has the largest pumps?", Beyond.TOTAL), ("What is the oldest town?", Beyond.TOTAL),
    ("Which town has 12 pumps?", None), ("Which large town has pumps?", None)])
def test_the_most_of_a_table_is_not_quoted_from_one_row(question, beyond, tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "towns.db")
    knowledge.add_text("towns.csv", "Town,Founded,Pumps\nBodo,1816,12\nMandal,1779,7\n")
    answer = knowledge.answer(question)
    assert answer.beyond == beyond
    assert answer.abstained == (beyond is not None)


@pytest.mark.parametrize(("question", "first"), [
    ("Which is the largest?", False), ("What is the total number of pumps?", True)])
def test_a_row_that_sums_the_others_has_not_the_most(question, first, tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "towns.db")
    knowledge.add_text("towns.csv", "Town,Founded,Pumps\nTotal,,19\nBodo,1816,12\nMandal,1779,7\n")
    rows = [sentence.text for sentence in knowledge.answer(question).sentences]
    assert rows[0].startswith("Town: Total") == first


@pytest.mark.parametrize(("question", "bold"), [
    ("When was the Grebe built?", True), ("Who is the captain of the Grebe?", True),
    ("What does the Grebe burn as fuel?", False), ("Which paint does the Grebe have?", False)])
def test_a_row_without_the_asked_column_is_no_answer(question, bold, tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "ferries.db")
    knowledge.add_text("ferries.csv", "Ferry,Built,Captain,Cars\nGrebe,1994,Ada Brenner,40\n"
                                      "Heron,2003,Hugo Lind,65\n")
    answer = knowledge.answer(question)
    assert answer.sentences[0].text.startswith("Ferry: Grebe")
    assert (answer.chance > UNSURE) == bold


def test_a_row_is_written_in_two_columns_with_the_asked_cell_marked(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "crew.db")
    knowledge.add_text("crew.csv", "Town,Head,Pumps\nBodo,Per Lund,12\nMandal,Una Berg,7\n")
    answer = knowledge.answer("How many pumps are in Mandal?")
    lines = list(answer_lines(answer))
    place = lines.index("  Town   Mandal [1]")
    assert lines[place + 1:place + 3] == ["  Head   Una Berg", "> Pumps  7"]


@pytest.mark.parametrize(("question", "beyond"), [
    ("How many orders are not paid?", Beyond.TOTAL), ("How many boats are there?", Beyond.TOTAL),
    ("How many boats have an order that is paid?", Beyond.TOTAL),
    ("How many masts has the Fulmar?", None), ("How many orders did the crane lift take?", Beyond.TOTAL)])
def test_rows_are_not_counted_by_one_of_them(question, beyond, tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "orders.db")
    knowledge.add_text("orders.csv", "Number,Boat,Masts,Amount,Paid\n"
                                       "O-1,Fulmar,2,480,yes\nO-2,Petrel,1,90,no\n")
    assert knowledge.answer(question).beyond == beyond


@pytest.mark.parametrize(("question", "beyond"), [
    ("Was kostet die Überholung der Möwe?", None), ("War die Möwe in Leer?", Beyond.CLOSED),
    ("Was the Grebe built in Leer?", Beyond.CLOSED), ("What is the mill page about?", Beyond.SUMMARY),
    ("What are the main dangers of the ferry?", Beyond.SEVERAL), ("What is the main port?", None),
    ("Which is older, the Grebe or the Heron?", Beyond.COMPARISON),
    ("Is rye or wheat cheaper?", Beyond.COMPARISON),
    ("Which is more expensive, the Grebe or the Heron?", Beyond.COMPARISON),
    ("Are more than two boats or mills older than Leer?", Beyond.CLOSED),
    ("Which older boat sails to Vlieland or Sneek?", None)])
def test_a_question_is_read_by_its_language_and_its_grammar(question, beyond):
    assert parse_question(question).beyond == beyond


@pytest.mark.parametrize("kind", BEYOND)
def test_what_no_sentence_can_answer_is_told_and_never_bold(kind, ferry):
    for question in BEYOND[kind]:
        answer = ferry.answer(question)
        assert (question, answer.beyond) == (question, kind)
        assert not any(sentence.best for sentence in answer.sentences)
        several = kind in (Beyond.SEVERAL, Beyond.CLOSED) and not answer.lacks_name
        assert answer.likelihood == (Likelihood.UNSURE if several else Likelihood.UNLIKELY)


@pytest.mark.parametrize("question", [
    "When did she not visit Kew?", "Why is the mill never open on Mondays?", "Who founded the line?",
    "How many passengers does the Grebe carry?", "What happens without a ticket?",
    "What did Ada Brenner introduce in 1931?", "Who is on the list?", "Ada Brenner ferry line",
    "The Grebe is fast", "Is it known when the mill was built?"])
def test_a_sentence_may_answer_other_questions(question):
    assert find_beyond(question) is None


def test_a_comparison_quotes_each_of_its_names(ferry):
    answer = ferry.answer("What is the difference between Vlieland and Sneek?")
    first = " ".join(sentence.text for sentence in answer.sentences)
    assert "Vlieland" in first
    assert "Sneek" in first


def test_a_summary_begins_in_the_passage_that_its_name_titles(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "boats.db")
    knowledge.add_text("lind.md", "# Hugo Lind\n\nHugo Lind owned four mills. He sold his mill in Leer.")
    knowledge.add_text("line.md", "# The line\n\nAda Brenner built boats, and Hugo Lind bought her boats. "
                                  "The boats of Hugo Lind were sold.")
    first = knowledge.answer("Introduce the boats of Hugo Lind.").sentences[0]
    assert first.text.startswith(("Hugo Lind owned", "He sold"))


@pytest.mark.parametrize(("question", "kind"), [
    ("Who founded Kew?", "person"), ("In which year was it built?", "time"), ("Where is Kew?", "place"),
    ("How many boats sail?", "number"), ("What is a grebe?", "open"), ("Wie viele Boote fahren?", "number"),
    ("Où est le port ?", "place"), ("谁写了它？", "person"), ("どこですか", "place"),
    ("In which country was the author of Emma born who died in 1817?", "place")])
def test_the_first_phrase_tells_the_kind_of_thing_asked_for(question, kind):
    assert find_asked(question) == kind


@pytest.mark.parametrize(("kind", "text", "types", "rate"), [
    (Asked.TIME, "It was built in 1931.", (), 1), (Asked.TIME, "It was built in 1958.", (), 0),
    (Asked.NUMBER, "It has two sails.", (), 1), (Asked.TIME, "It has two sails.", (), 0),
    (Asked.PERSON, "Ada ran it.", ("person",), 1), (Asked.PERSON, "Kew is there.", ("gpe",), 0.5),
    (Asked.REASON, "It closed because of rain.", (), 1), (Asked.REASON, "It closed.", (), 0),
    (Asked.PLACE, "Kew is there.", ("gpe",), 1), (Asked.PLACE, "It is there.", (), 0),
    (Asked.OPEN, "crop: leeks\nplot: 1931", (), 0.5), (Asked.PERSON, "crop: leeks\nplot: 1931", (), 0)])
def test_a_sentence_fits_by_what_the_question_does_not_say(kind, text, types, rate):
    names = [SentenceName("n", "Ada", type) for type in types]
    assert rate_kind(kind, text, names, {"what", "happened", "1958"}) == rate


@pytest.mark.parametrize(("question", "rated"), [
    ("In which year was the ferry line founded?", True),
    ("Wann wurde die Linie der Fähre gegründet?", False)])
def test_the_kind_of_thing_asked_for_is_rated_in_english_alone(question, rated, ferry):
    plan, passages = ferry.plan(question), read_corpus(ferry).passages
    found = ferry.retrieve(plan)
    with ferry.store() as store:
        candidates = read_candidates(found.passages, store)
        table = rate_sentences(candidates, plan, found, passages, store)
    assert table[:, FEATURES.index("kind")].any() == rated


@pytest.mark.parametrize(("question", "unknown"), [
    ("Compare the Grebe with the Heron.", ()), ("Summarise the ferry line.", ()),
    ("When does the ferry to Ameland sail?", ("Ameland",)), ("When does the ferry to Vlieland sail?", ()),
    ("In which township was the Grebe built?", ()), ("Who saw the glacier near Vlieland?", ("glacier",)),
    ("Who told Mara Delgado of the glacier?", ("Mara Delgado", "glacier")),
    ("Which is the largest glacier?", ("glacier",)), ("Was anybody on the Grebe?", ()),
    ("Is the Grebe slower than a glacier?", ("glacier",))])
def test_words_that_no_document_has_are_told_first(question, unknown, ferry):
    answer = ferry.answer(question)
    assert answer.unknown == unknown
    assert not (unknown and answer.answered)


def test_a_question_of_the_text_is_not_quoted_as_its_answer(ferry):
    first = ferry.answer("When does the mill open?").sentences[0]
    assert first.text == "It opens at ten, except on Mondays."


def test_the_first_sentence_is_bold_from_a_chance_of_six_in_ten():
    for chance, likelihood in ((0.6, "likely"), (0.59, "unsure"), (0.3, "unsure"), (0.29, "unlikely")):
        assert Answer((), (), chance).likelihood == likelihood
    assert Answer((), (), 0.9, unknown=("Ameland",)).likelihood == "unlikely"
    assert Answer((), (), 0.9, unknown=("glacier",)).likelihood == "unsure"


def test_the_chance_is_of_the_first_by_its_share_of_all():
    model, table = ChoiceModel(np.array([1.0, 2.0]), np.array([0.0, 1.0, -0.5])), np.eye(2)
    choice = model.weigh(table, 0)
    assert choice.order == (1, 0)
    share = np.exp(2.0) / (np.exp(1.0) + np.exp(2.0))
    assert choice.chance == pytest.approx(share / (1 + share))  # with intercept 0 and slope 1
    assert model.weigh(np.eye(2)[[1, 1]], 0).chance < choice.chance
    assert model.weigh(table, 2).chance == pytest.approx(share / (np.e + share))


@pytest.mark.parametrize(("question", "first"), [
    ("Who founded the ferry line?", "Ada Brenner founded the ferry line"),
    ("What does a ticket to Vlieland cost?", "A ticket to Vlieland costs 31 euros."),
    ("When was the line sold to Hugo Lind?", "She sold it to Hugo Lind in 1958."),
    ("Where was the Heron built?", "The Heron was built in Sneek.")])
def test_a_plain_question_is_answered_in_bold_by_its_sentence(question, first, ferry):
    sentence = ferry.answer(question).sentences[0]
    assert sentence.text.startswith(first)
    assert sentence.best


def candidate(text, rank=0, title="The mill", cosine=0.5, before=None):
    passage = RetrievedPassage("p", f"chunk{rank}", "a.md", title, text, 1.0, 0, len(text))
    return Candidate(rank, passage, 0, len(text), np.array([cosine, 0.0], np.float32), "Sails", before)


@pytest.mark.parametrize(("text", "statement"), [
    ("The mill grinds rye", True), ("The sails turn", False), ("The sails turn.", True),
    ("They turn.", False), ("10 g salt", True), ("1931", False), ("Who runs it?", False), ("Rye? 2.", False),
    ("The mill", False), ("Sails", False), ("crop: leeks\nplot: 3", True), ("crop: leeks\nwho: me?", True),
    ("3. Sails", False), ("3. Rent due", False), ("- 10 g salt", True), ("3. The sails turn.", True)])
def test_questions_headings_and_remnants_are_no_statements(text, statement):
    assert _is_statement(candidate(text)) == statement


def test_a_sentence_is_as_near_as_the_question_that_it_follows():
    plan = type("Plan", (), {"embedding": np.array([1.0, 0.0], np.float32)})
    asks = candidate("When does it open?", cosine=0.75)
    says = candidate("It is closed.", cosine=0.875)
    for text, before, near in (("At ten.", asks, 0.75), ("At ten.", says, 0.5), ("At ten.", None, 0.5)):
        assert candidate(text, before=before).compare(plan) == near
    assert candidate("At ten.", cosine=0.875, before=asks).compare(plan) == 0.875


@pytest.mark.parametrize(("line", "sentence", "speaker"), [
    ("Ada Brenner: The rope broke. We need a new one.", "We need a new one.", "Ada Brenner"),
    ("Ada Brenner: The rope broke.", "The rope broke.", "Ada Brenner"),
    ("[2024-06-03 09:00] Ada Brenner: The rope broke. It is old.", "It is old.", "Ada Brenner"),
    ("(00:09:00) Ada Brenner: The rope broke. It is old.", "It is old.", "Ada Brenner"),
    ("Note: The rope broke. We need a new one.", "We need a new one.", None),  # which is no name
    ("Hugo Lind called.\nWe need a new one.", "We need a new one.", None),
    ("Ada Brenner: The rope broke.\nWe need a new one.", "We need a new one.", None)])
def test_the_speaker_of_a_sentence_is_named_at_the_start_of_its_line(line, sentence, speaker):
    names = [SentenceName("e1", "Hugo Lind", "PERSON"), SentenceName("e2", "Ada Brenner", "PERSON")]
    passage = RetrievedPassage("p", "c", "notes.txt", "Notes", line, 1.0, 0, len(line))
    start = line.index(sentence)
    said = Candidate(0, passage, start, len(line), np.ones(2), "").find_speaker(names)
    assert (said.text if said else None) == speaker


def test_a_question_for_a_person_is_answered_by_who_says_it(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "chat.db")
    knowledge.add_text("chat.txt", "We met.\n\nAda Brenner: The rope broke. I suggest a steel cable.\n\n"
                                   "Hugo Lind: The cable is too heavy.")
    answer = knowledge.answer(knowledge.retrieve("Who suggests a steel cable?"))
    assert answer.sentences[0].speaker == "Ada Brenner"
    assert answer.sentences[0].line == "Ada Brenner: \u2026 I suggest a steel cable."
    assert answer.sentences[0].text == "I suggest a steel cable."


def test_a_hop_leads_to_titles_in_the_nearest_sentence_and_those_next_to_it():
    titles = ("The mill", "The mill", "The mill", "The mill", "Leer", "Kew", "Rye", "Oats")
    some = [candidate(f"{number}" * (number + 3), 0 if number < 4 else number, title)
            for number, title in enumerate(titles)]
    names = {(some[at].passage.chunk, some[at].end): [SentenceName(node_id("entity", name), name, "")]
             for at, name in enumerate(("leer", "kew", "the mill", "rye", "oats"))}
    assert _find_leads(some, names, 1) == {"Leer", "Kew"}
    assert _find_leads(some, names, 2) == {"Kew", "Rye"}
    assert _find_leads(some, names, 3) == {"Rye"}  # the next sentence is of another passage


def test_features_of_sentences_are_those_worked_out_one_by_one(ferry):
    plan = ferry.plan("Which boat did Ada Brenner found in 1931 at the glacier?")
    retrieval, corpus = ferry.retrieve(plan), read_corpus(ferry, ferry.graph)
    with ferry.store() as store:
        some = read_candidates(retrieval.passages, store)
        table = rate_sentences(some, plan, retrieval, corpus.passages, store)
    assert table.shape == (len(some), len(FEATURES))
    columns = dict(zip(FEATURES, table.T, strict=True))
    weights = _weigh_words(plan, corpus.passages)
    assert weights["1931"] == pytest.approx(np.log1p(2.5 / 1.5))  # in one of three passages
    assert max(weights.values()) == weights["1931"]
    assert weights["glacier"] == 0  # no passage has it
    unnamed = {word: weight for word, weight in weights.items() if word not in ("ada", "brenner")}
    assert len(unnamed) == len(weights) - 2
    for each, row in zip(some, table, strict=True):
        assert row[0] == pytest.approx(each.compare(plan))
        assert row[1] == pytest.approx(_share(unnamed, each.text))
        before = each.before.text if each.before else ""
        assert row[2] == pytest.approx(
            _share(weights, f"{each.passage.title} {each.heading} {before} {each.text}"))
        assert row[3] == each.rank
    best = next(at for at, each in enumerate(some) if "founded" in each.text)
    assert columns["words"][best] == columns["words"].max() > 0
    assert columns["around"][best] == columns["around"].max()


def test_the_number_of_an_item_is_not_what_is_asked_for(ferry):
    plan, corpus = ferry.plan("When was the ferry line founded?"), read_corpus(ferry, ferry.graph)
    texts = ("4. The line is old.", "4. It is from 1899.", "Its size is 4.")
    some = [replace(candidate(text), vector=plan.embedding) for text in texts]
    with ferry.store() as store:
        table = rate_sentences(some, plan, ferry.retrieve(plan), corpus.passages, store)
    assert table[:, FEATURES.index("kind")].tolist() == [0, 1, 1]


def test_sentences_near_the_question_are_two_of_a_passage_and_three_quarters_as_near_as_the_best(
        ferry):
    plan = ferry.plan("What does the mill grind?")
    passages = ferry.retrieve(plan).passages
    with ferry.store() as store:
        near, some = find_near(passages, plan, store), read_candidates(passages, store)
    best = max(float(each.vector @ plan.embedding) for each in some)
    assert near.keys() == {each.passage.chunk for each in some}
    for chunk, spans in near.items():
        far = sorted((-float(each.vector @ plan.embedding), each.start, each.end) for each in some
                     if each.passage.chunk == chunk)
        far = [one for one in far if -one[0] >= max(0.31, 0.75 * best)]
        assert spans == [(start, end) for _, start, end in far[:2]]
    assert sum(map(len, near.values())) >= 2


@pytest.mark.parametrize("question", [
    "What does the mill grind?", "Who founded the ferry line?", "Where was the Heron built?",
    "What is the difference between Vlieland and Sneek?", "What does a ticket to Vlieland cost?"])
def test_quotes_are_at_their_offsets_follow_each_other_and_are_marked_in_their_sources(
        question, ferry):
    answer = ferry.answer(question)
    sources = {citation.number: citation for citation in answer.citations}
    assert list(sources) == list(range(1, len(sources) + 1))
    assert [sentence.citation for sentence in answer.sentences] == sorted(
        sentence.citation for sentence in answer.sentences)
    assert len(answer.sentences) <= 4
    assert max(Counter(sentence.citation for sentence in answer.sentences).values()) <= 2
    before = None
    for place, sentence in enumerate(answer.sentences):
        source = sources[sentence.citation]
        with ferry.store() as store:
            whole = store.documents.get(source.passage.document).text
        assert whole[sentence.start:sentence.end].strip() == sentence.text
        within = (sentence.start - source.passage.start, sentence.end - source.passage.start)
        assert within in source.marks
        assert source.support >= sentence.similarity
        assert sentence.best == (place == 0 and answer.likelihood == Likelihood.LIKELY)
        same = before is not None and before.citation == sentence.citation
        assert sentence.skips == (same and (
            before.end > sentence.start or whole[before.end:sentence.start].strip() != ""))
        before = sentence
    assert {citation.support for citation in answer.citations} == {
        max(s.similarity for s in answer.sentences if s.citation == number) for number in sources}
