"""Recall, intervals and answers of methods on questions with gold passages, and their page."""

import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar
from urllib.parse import parse_qs

import numpy as np
import pytest
from clicks import page, shown

from qafd.cli import main
from qafd.errors import ParameterError
from qafd.evaluate import Trial, evaluate
from qafd.evaluate.collection import collection, gold_documents
from qafd.evaluate.gold import GoldPassage, Question, read_questions
from qafd.evaluate.measures import contains, exact_match, f1, intervals
from qafd.reasons import NoticeKind, notice
from qafd.records import QueryPlan
from qafd.resources import assets
from qafd.retrieve.base import RankedPassage, Retrieval, RetrievedNode
from qafd.retrieve.methods import read_methods
from qafd.samples import SAMPLES

PASSAGES = (
    GoldPassage("p1", "Ada Lovelace", "Ada Lovelace wrote notes on the Analytical Engine."),
    GoldPassage("p2", "Analytical Engine", "The Analytical Engine was designed by Charles Babbage."),
    GoldPassage("p3", "Charles Babbage", "Charles Babbage was born in London."),
    GoldPassage("p4", "Jacquard loom", "The Jacquard loom weaves silk by punched cards. " * 60),
    GoldPassage("p5", "London", "London lies on the Thames."),
    GoldPassage("p6", "Babbage", "Babbage is also a crater on the Moon."))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return collection(tmp_path_factory.mktemp("eval") / "p.db", "passages.jsonl", PASSAGES,
                      processes=1)


@dataclass(frozen=True)
class Listed:
    """A method that ranks documents by hand, one order per question, or refuses."""

    label: ClassVar[str] = "by hand"
    idea: ClassVar[str] = ""
    source: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    orders: tuple[tuple[str, ...] | None, ...] = ()

    def __post_init__(self):
        self.plans: list[QueryPlan]
        object.__setattr__(self, "plans", [])

    def fit_to(self, _):
        return self

    def retrieve(self, corpus, plan):
        number = len(self.plans)
        self.plans.append(plan)
        order = self.orders[number]
        if order is None:
            raise ParameterError("too much mass")
        graph = corpus.graph
        passages = list(zip(corpus.passages.rows.tolist(), corpus.passages.titles, strict=True))
        by_title = {title: [row for row, own in passages if own == title] for title in order}
        ranked = [row for title in order for row in by_title[title]]
        return Retrieval(
            plan.question, "listed", {}, (), tuple(RetrievedNode(
                graph.ids[row], graph.names[row], "passage", 1.0, 0.0, state, "listed")
                for row, state in zip(ranked, ["saturated", "wet"] * 99, strict=False)),
            (), tuple(RankedPassage(graph.ids[row], 1.0 / place)
                      for place, row in enumerate(ranked, 1)))


ADA, ENGINE, BABBAGE, LOOM, LONDON, CRATER = (passage.title for passage in PASSAGES)
QUESTIONS = (
    Question("a", "Who designed the engine that Ada Lovelace wrote on?", ("p1", "p2"),
             ("Charles Babbage",)),
    Question("b", "Where was Charles Babbage born?", ("p3",), ("London", "in London")),
    Question("c", "On which river lies the birthplace of Charles Babbage?", ("p3", "p5")))
FIRST = Listed((
    (ADA, ENGINE, LONDON),                          # ranks 1, 2
    (LOOM, BABBAGE),                                # p4 has several passages but is one rank: 2
    (LOOM, ADA, ENGINE, CRATER, BABBAGE, LONDON)))  # ranks 5, 6
SECOND = Listed(((ENGINE, LONDON), (BABBAGE,), None))  # ranks -, 1; 1; refused


@pytest.fixture(scope="module")
def result(library):
    return evaluate(library, QUESTIONS, {"first": FIRST, "second": SECOND})


def test_ranks_count_documents_and_a_split_one_counts_once(result):
    assert [trial.ranks for trial in result.scores[0].trials] == [(1, 2), (2,), (5, 6)]
    assert [trial.ranks for trial in result.scores[1].trials] == [(None, 1), (1,), (None, None)]


def test_means_are_those_counted_by_hand(result):
    first, second = result.scores
    assert first.recall == pytest.approx((2 / 3, 2.5 / 3, 1.0))
    assert first.complete == pytest.approx(2 / 3)
    assert first.reciprocal == pytest.approx((1 + 1 / 2 + 1 / 5) / 3)
    assert first.milliseconds == sorted(trial.milliseconds for trial in first.trials)[1] > 0
    assert second.recall == pytest.approx((0.5, 0.5, 0.5))
    assert second.reciprocal == pytest.approx(2 / 3)
    assert first.recall_5.mean == pytest.approx(2.5 / 3)
    assert second.difference.mean == pytest.approx((-0.5 + 0 - 0.5) / 3)


def test_precision_and_f1_are_those_counted_by_hand(result):
    first, second = result.scores
    precision = [Fraction(2, 5), Fraction(1, 5), Fraction(1, 5)]  # ranks 1, 2; 2; 5, 6
    recall = [Fraction(1), Fraction(1), Fraction(1, 2)]
    balance = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    assert [trial.precision(5) for trial in first.trials] == pytest.approx(precision)
    assert [trial.f1_at(5) for trial in first.trials] == pytest.approx(balance)
    assert first.intervals["precision@5"].mean == pytest.approx(float(sum(precision) / 3))
    assert first.intervals["f1@5"].mean == pytest.approx(float(sum(balance) / 3))
    others = [2 * Fraction(1, 5) * Fraction(1, 2) / Fraction(7, 10), Fraction(1, 3), Fraction(0)]
    assert [trial.f1_at(5) for trial in second.trials] == pytest.approx(others)
    assert second.differences["f1@5"].mean == pytest.approx(
        float(sum(others) - sum(balance)) / 3)


def test_two_gold_names_of_one_document_are_one_hit_of_its_precision():
    assert Trial((2, 2, None)).precision(5) == pytest.approx(1 / 5)
    assert Trial((2, 2, None)).recall(5) == pytest.approx(2 / 3)


def test_gold_is_found_by_name_by_id_by_file_and_by_title(library):
    gold = ("passages.jsonl#p1", "p2", "london", "passages.jsonl")
    documents, notices = gold_documents(library, [Question("q", "?", gold)])
    assert [sorted(documents[name]) for name in gold[:3]] == [
        ["passages.jsonl#p1"], ["passages.jsonl#p2"], ["passages.jsonl#p5"]]
    assert len(documents["passages.jsonl"]) == 6
    assert notices == ()


def test_gold_that_is_not_there_is_said_and_none_at_all_is_refused(library):
    _, notices = gold_documents(library, [Question("q", "?", ("p1", "p99"))])
    assert notices == (notice(NoticeKind.GOLD_UNKNOWN, missing=1, all=2, names=("p99",)),)
    with pytest.raises(ParameterError, match="no gold document .*'p99'"):
        gold_documents(library, [Question("q", "?", ("p99",))])


def exact_interval(values):
    """The 2.5% and 97.5% quantiles over all n^n resamples."""
    n = len(values)
    sums = sorted(map(sum, product(values, repeat=n)))
    return (Fraction(sums[len(sums) * 25 // 1000], n), Fraction(sums[len(sums) * 975 // 1000], n))


@pytest.mark.parametrize("values", [[0, 0, 1, 1, 1, 1], [0, 1, 2, 5, 9, 9], [3, 3, 3, 3, 3, 3]])
def test_the_interval_is_that_of_all_possible_resamples(values):
    found = intervals(np.array(values, float)[None], np.random.default_rng(1))[0]
    low, high = exact_interval(values)
    assert found.mean == pytest.approx(sum(values) / 6)
    assert (found.low, found.high) == pytest.approx((float(low), float(high)), abs=0.17)


def test_a_constant_gain_is_certain_however_much_the_questions_differ():
    rng = np.random.default_rng(0)
    one = rng.random(50)
    found = intervals(((one + 0.1) - one)[None], np.random.default_rng(1))[0]
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.certain


@pytest.mark.parametrize(("answer", "gold", "exact", "overlap", "inside"), [
    ("The Eiffel Tower!", "eiffel tower", 1, 1, 1),
    ("the cat sat", "a cat sat down", 0, 2 * 2 / (2 + 3), 0),
    ("cat cat dog", "cat", 0, 2 * 1 / (3 + 1), 1),
    ("yes", "no", 0, 0, 0),
    ("yes it is", "yes", 0, 2 * 1 / (3 + 1), 1),
    ("Leonard", "Leo", 0, 0, 0),
    ("", "Leo", 0, 0, 0),
    ("It was in Saint-Malo.", "saintmalo", 0, 2 * 1 / (4 + 1), 1),
])
def test_answers_are_compared_as_squad_and_hipporag_do(answer, gold, exact, overlap, inside):
    assert exact_match(answer, gold) == exact
    assert f1(answer, gold) == pytest.approx(overlap)
    assert contains(answer, gold) == inside


@pytest.mark.parametrize(("specs", "message"), [
    ("", "is not a method"),
    ("qafd(mass=30", "is not a method"),
    ("nothing", "there is no method 'nothing'"),
    ("qafd:worst", "no preset 'worst'; it has best, paper"),
    ("vector:paper", "no preset 'paper'; it has none"),
    ("qafd(speed=3)", "has no parameter 'speed'"),
    ("qafd(mass=much)", "mass is 'much'; give a number"),
    ("qafd(variant=round)", "variant is 'round'"),
])
def test_a_method_that_is_not_there_is_refused(specs, message, library):
    with pytest.raises(ParameterError, match=message):
        read_methods(specs, library.graph)


def test_the_same_passages_are_used_again_and_others_refused(library):
    before = library.graph.revision
    again = collection(library.url, "passages.jsonl", PASSAGES, processes=1)
    assert again.graph.revision == before
    with pytest.raises(ParameterError, match="holds 1 other files"):
        collection(library.url, "more.jsonl", PASSAGES[:1], processes=1)


def test_the_command_measures_and_writes_what_it_found(library, tmp_path, capsys):
    passages, questions, out = (tmp_path / name for name in
                                ("passages.jsonl", "q.jsonl", "out.json"))
    passages.write_text("".join(
        json.dumps({"pid": p.id, "title": p.title, "text": p.text}) + "\n" for p in PASSAGES))
    questions.write_text("".join(
        json.dumps({"qid": q.id, "question": q.text, "gold_pids": q.gold}) + "\n"
        for q in QUESTIONS))
    code = main(["eval", "retrieval", "--passages", str(passages), "--questions", str(questions),
                 "--methods", "lexical,vector",
                 "--db", library.url.removeprefix("sqlite:///"), "--limit", "2", "--json", str(out)])
    assert code == 0
    assert "2 questions, " in capsys.readouterr().out
    stored = json.loads(out.read_text())
    assert stored["questions"] == 2
    for name in ("lexical", "vector"):
        line = stored["methods"][name]
        for question, found in zip(QUESTIONS, line["per_question"], strict=False):
            order = list(dict.fromkeys(
                p.document for p in library.retrieve(question.text, name).passages))
            assert found["ranks"] == {
                pid: order.index(f"passages.jsonl#{pid}") + 1 for pid in question.gold}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_bundled_gold_is_in_the_sample_and_says_the_answer(sample):
    folder = assets() / "samples" / sample
    texts = {text.partition("\n")[0].removeprefix("# "): text
             for text in (path.read_text("utf-8") for path in folder.glob("*.md"))}
    questions = read_questions(
        (folder.parent / f"{sample}.questions.jsonl").read_bytes()).questions
    assert len(questions) >= 8
    for question in questions:
        gold = " ".join(texts[name] for name in question.gold)
        assert any(contains(gold, answer) for answer in question.answers), question.text


def measure(app):
    next(button for button in app.button if button.label.startswith("Measure ")).click().run()


def test_nothing_is_measured_before_it_is_asked_for_and_then_on_the_bundled_questions(home):
    app = page("evaluate")
    assert not app.dataframe
    measure(app)
    assert not app.exception
    assert not app.error
    assert "24 questions, 14 passages" in shown(app)
    told = next(html.proto.body for html in app.get("html") if "verdict" in html.proto.body)
    numbers, questions = (frame.value for frame in app.dataframe)
    assert list(numbers["method"])[0] == "QAFD flow diffusion"
    assert all(name in told for name in numbers["method"])
    assert len(questions) == 24
    alt = app.get("plotly_chart")[0].proto.alt
    assert [f"{name} {share:.2f} (" in alt for name, share in zip(
        numbers["method"], numbers["Found in 2"], strict=True)] == [True] * len(numbers)
    assert list(questions.columns) == ["question", *numbers["method"]]
    assert list(numbers["difference (95%)"])[0] == ""
    assert (numbers["nodes"] > 0).all()
    assert "Gold passages, in the order of the ranks: " in shown(app)
    links = [(link.proto.label, link.proto.query_string) for link in app.get("page_link")]
    assert [label for label, _ in links] == ["Open in Explore", "Open in Compare"]
    assert [parse_qs(query) for _, query in links] == 2 * [
        {"ws": ["apple-amazon"], "q": [questions["question"][0]]}]
