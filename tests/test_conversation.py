"""Follow-ups: what they become by rules and by a model, and the questions that a workspace keeps."""

import re
from dataclasses import dataclass

import pytest
from browsing import settle
from clicks import page as open_app
from playwright.sync_api import expect

from qafd.answer.conversation import (
    KEPT,
    Exchange,
    FollowUp,
    by_rules,
    follow_up,
    forget_turns,
    keep_turn,
    turns,
    what_was_said,
)
from qafd.app import access
from qafd.cli import main
from qafd.knowledge import KnowledgeGraph, list_questions
from qafd.models import Message, Reply

BEFORE = Exchange("Who founded Lindau Mill?", "Ada Brenner and Karl Voss did.", ("Lindau Mill",),
              ("Ada Brenner", "Karl Voss"))


@dataclass
class Model:
    """A client that says one thing, and keeps what it was sent."""

    text: str
    name: str = "m"
    sent: tuple[Message, ...] = ()

    def complete(self, messages, **_):
        self.sent = messages
        return Reply(self.text, 10, 5)

    def stream(self, *_, **__):
        raise NotImplementedError


def test_a_models_question_is_taken_and_its_essay_is_not():
    model = Model('"When did Ada Brenner die?"')
    assert follow_up("When did she die?", [BEFORE], model) == FollowUp(
        "When did she die?", "When did Ada Brenner die?", "m")
    assert "Ada Brenner and Karl Voss did." in model.sent[-1].content
    made = follow_up("When did she die?", [BEFORE], Model("Well.\nShe died in 1902."))
    assert (made.made_by, made.failure is not None) == ("rules", True)
    assert made.question == "When did she die? (Ada Brenner, Karl Voss, Lindau Mill)"


def test_a_turn_has_the_names_of_the_question_and_of_the_first_sentence(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "a.db")
    knowledge.add_text("a.txt", "Ada Brenner founded Lindau Mill. Karl Voss sold Lindau Mill to Emil Roth.")
    retrieval = knowledge.retrieve("Who founded Lindau Mill?")
    answer = knowledge.answer(retrieval)
    assert not answer.abstained
    said = what_was_said(retrieval, answer)
    assert (said.names, said.answered) == (("Lindau Mill",), ("Ada Brenner",))
    assert said.answer.startswith("Ada Brenner founded Lindau Mill.")


@pytest.mark.parametrize(("asked", "names", "typed", "again"), [
    ("Who won the Mill Cup in 2018?", ("Mill Cup",), "And in 2019?", "Who won the Mill Cup in 2019?"),
    ("Who won the Mill Cup in 2018?", ("Mill Cup",), "What about the Dam Cup?",
     "Who won the Dam Cup in 2018?"),
    ("What does E2 on the pump mean?", ("pump", "E2"), "and E3", "What does E3 on the pump mean?"),
    ("How far is Ulm from Bonn?", ("Ulm", "Bonn"), "And Kiel?", "And Kiel? (Ulm, Bonn)"),
    ("Who won the 2018 Mill Cup?", ("2018 Mill Cup",), "And 2019?", "Who won the 2019 Mill Cup?"),
    ("Who won the Mill Cup in 2018?", ("Mill Cup",), "And with whom?", "And with whom? (Mill Cup)"),
    ("Who won the Mill Cup in 2018?", ("Mill Cup",), "And before 2018?", "And before 2018? (Mill Cup)"),
    ("Who won the Mill Cup in 2018?", ("Mill Cup",), "And Ulm in 2019?", "And Ulm in 2019? (Mill Cup)"),
    ("What does the pump do?", ("pump",), "And valve?", "What does the valve do?"),
    ("Who made the Mill Cup?", ("Mill Cup",), "And the valve?", "And the valve? (Mill Cup)"),
    ("Who met Ada Brenner?", ("Ada Brenner",), "And Karl Voss?", "Who met Karl Voss?"),
])
def test_another_name_or_number_takes_the_place_of_its_like(asked, names, typed, again):
    assert by_rules(typed, Exchange(asked, "", names, ())).question == again


def test_a_workspace_keeps_its_last_questions_each_once(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "a.db")
    with knowledge.store() as store:
        for number in range(KEPT + 5):
            keep_turn(store, f"Question {number}?")
        keep_turn(store, "Question 50?", "And 50?")
        kept = turns(store)
    assert len(kept) == KEPT - 1  # one of them twice
    assert (kept[0].question, kept[0].typed) == ("Question 50?", "And 50?")
    assert kept[-1].question == "Question 6?"
    with knowledge.store() as store:
        forget_turns(store)
    assert list_questions(knowledge) == ()


def test_the_command_follows_the_last_question(tmp_path, capsys):
    knowledge = KnowledgeGraph(tmp_path / "a.db")
    knowledge.add_text("a.txt", "Ada Brenner founded the mill of Lindau. She was born in Ulm.")
    place = ["--db", str(tmp_path / "a.db")]
    assert main(["answer", "Where was she born?", "--follow", *place]) == 2
    assert "nothing to follow" in capsys.readouterr().err
    main(["answer", "Who is Ada Brenner?", *place])
    capsys.readouterr()
    main(["answer", "Where was she born?", "--follow", *place])
    assert "Ada Brenner" in capsys.readouterr().err
    assert [turn.typed for turn in list_questions(knowledge)] == ["Where was she born?", ""]


def test_a_private_question_is_listed_in_its_session_only(tmp_path, monkeypatch):
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    monkeypatch.setattr(access, "shared", True)
    knowledge = KnowledgeGraph(tmp_path / "mine.db")
    knowledge.add_text("a.txt", "Ada Brenner founded the mill of Lindau. She was born in Ulm.")
    app = open_app("explore", ws="mine", q="Who founded the mill?")
    assert [turn.question for turn in list_questions(knowledge)] == ["Who founded the mill?"]
    app.toggle(key="private").set_value(True).run()
    for question in ("Was Ada Brenner ill?", "Who is Ada Brenner?"):
        app.text_input(key="q").set_value(question).run()
    assert app.selectbox(key="earlier").options == ["Was Ada Brenner ill?", "Who founded the mill?"]
    assert [turn.question for turn in list_questions(knowledge)] == ["Who founded the mill?"]
    other = open_app("explore", ws="mine", q="Where is Lindau?")
    assert other.selectbox(key="earlier").options == ["Who founded the mill?"]


def test_who_uses_a_workspace_alone_is_not_asked_about_privacy(tmp_path, monkeypatch):
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    KnowledgeGraph(tmp_path / "mine.db").add_text("a.txt", "Ada Brenner founded the mill of Lindau.")
    app = open_app("explore", ws="mine", q="Who founded the mill?")
    assert "private" not in [toggle.key for toggle in app.toggle]


@pytest.mark.browser
def test_the_first_question_of_a_session_is_kept(app_home, open_page):
    knowledge = KnowledgeGraph(app_home / "first.db")
    knowledge.add_text("a.txt", "Ada Brenner founded the mill of Lindau. She was born in Ulm.")
    page = open_page("/?ws=first&q=Who+is+Ada+Brenner%3F")
    page.wait_for_selector("[data-painted]", timeout=30_000)
    settle(page)
    assert [turn.question for turn in list_questions(knowledge)] == ["Who is Ada Brenner?"]


@pytest.mark.browser
def test_a_follow_up_is_asked_below_the_answer_and_its_question_can_be_edited(open_page):
    page = open_page("/?q=Who+founded+Amazon%3F")
    question = page.get_by_label("Question", exact=True)
    box = page.get_by_label("Follow-up")
    box.wait_for(timeout=60_000)
    settle(page)
    box.fill("And Apple?")
    box.press("Enter")
    expect(question).to_have_value("Who founded Apple?")
    expect(page.get_by_text("“And Apple?”, after “Who founded Amazon?”")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Ask as typed").locator("visible=true").first.click()
    expect(question).to_have_value("And Apple?")
    settle(page)
    page.get_by_label("Earlier questions").click()
    page.get_by_role("option", name="Who founded Apple?").click()
    expect(question).to_have_value("Who founded Apple?")
    expect(page).to_have_url(re.compile("q=Who\\+founded\\+Apple"))
