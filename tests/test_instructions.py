"""The prompts of a workspace and the limits of replies: what is kept, and what models are then sent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from faults import FaultServer
from tiny import tiny_index

from qafd.answer.conversation import Exchange, follow_up
from qafd.cli import main
from qafd.errors import ModelError, ParameterError, ReplyLimitError
from qafd.evaluate.gold import Question
from qafd.evaluate.judge import judge
from qafd.evaluate.written import Answered, AnswerResult, AnswerScore, mark_correct
from qafd.ingest.llm_extract import ModelExtractor
from qafd.ingest.reader import ModelChoice, choose, keep_prompt, prompts_in
from qafd.knowledge import (
    KnowledgeGraph,
    set_prompt,
)
from qafd.models import LLM, Message, Recorded
from qafd.models.calls import CallSettings
from qafd.models.cost import FREE, Meter, Metered
from qafd.models.embedder import local_embedder
from qafd.models.endpoint import Endpoint
from qafd.models.instructions import TASKS, Instructed, Instructions, check_prompt
from qafd.plan import Planner, ask_further
from qafd.sql.database import Database
from qafd.sql.write import write_sql
from qafd.storage import open_workspace

FERRIES = Path(__file__).parents[1] / "assets" / "samples" / "ferries.sqlite"
LIMITS = CallSettings(reply_tokens=701)
MARK = "Speak like a keeper of the archive."


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("songs") / "songs.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London. London is large.")
    return knowledge


def own(task: str) -> Instructions:
    return Instructions({task: f"{MARK} {TASKS[task].prompt}"}, LIMITS)


def ask_database(client: LLM, _: KnowledgeGraph) -> object:
    database = Database.open(FERRIES, local_embedder())
    return write_sql(database.ask("How many sailings were cancelled?"), client)


def marks(client: LLM, _: KnowledgeGraph) -> object:
    answered = Answered("London", False)
    result = AnswerResult((Question("q", "Where?", (), ("London",)),),
                          (AnswerScore("qafd", "QAFD", (answered,), {}),), "")
    return mark_correct(result, client, 1)


def ask_extract(client: LLM, songs: KnowledgeGraph) -> object:
    with songs.store() as store:
        log = store.log.read()
    return ModelExtractor(client, reply_tokens=705).read(log.chunks[0], log.extractions[0])


BEFORE = [Exchange("Who met Babbage?", "Ada.", ("Babbage",), ("Ada",))]
ASKING: dict[str, tuple[Callable[[LLM, KnowledgeGraph], object], int]] = {
    "extract": (ask_extract, 705),
    "plan": (lambda client, songs: songs.plan("Who met Babbage?", client=client), 701),
    "further": (lambda client, songs: ask_further(client, Planner(songs.graph, local_embedder()),
                                                  songs.plan("Who met Babbage?"), ["Ada met him."]), 701),
    "answer": (lambda client, songs: songs.answer(
        songs.retrieve("Where did Ada Lovelace meet?"), client=client), 701),
    "judge": (lambda client, _: judge("Where?", {"a": "London"}, client, repeats=1), 701),
    "sql": (ask_database, 701),
    "correct": (marks, 701),
    "follow": (lambda client, _: follow_up("And there?", BEFORE, client), 701),
}


@pytest.mark.parametrize("task", ASKING)
def test_every_task_sends_the_prompt_and_the_limit_that_it_is_given(
        task: str, songs: KnowledgeGraph, tmp_path: Path) -> None:
    recorded = Recorded(["{}"] * 4)
    ask, limit = ASKING[task]
    client: LLM = Instructed(recorded, own(task))
    if task == "answer":  # its prompt is that of the workspace
        songs = KnowledgeGraph(songs.url, calls=LIMITS)
        set_prompt(songs, "answer", f"{MARK} {TASKS['answer'].prompt}")
    if task == "correct":
        client = Metered(client, str(tmp_path / "calls.db"), Meter(), FREE)
    try:
        ask(client, songs)
    except (ModelError, AssertionError):
        pass  # the reply is of no use
    finally:
        if task == "answer":
            set_prompt(songs, "answer", "")
    assert recorded.asked[0].messages[0].content.startswith(MARK)
    assert recorded.asked[0].max_tokens == limit


@pytest.mark.parametrize(("task", "prompt"), [
    ("answer", "Answer with {absent}."), ("judge", "{mark} grade"), ("poem", "Write."), ("plan", "  "),
    ("plan", "x" * 20_001), ("answer", "Nothing in braces.")])
def test_a_prompt_that_could_not_be_used_is_refused_and_nothing_is_kept(
        task: str, prompt: str, path: Path) -> None:
    with open_workspace(path) as store:
        with pytest.raises(ParameterError):
            check_prompt(task, prompt)
        if prompt.strip():
            with pytest.raises(ParameterError):
                keep_prompt(store, task, prompt)
        assert prompts_in(store) == {}


def test_another_prompt_reads_anew_what_a_model_has_read_and_nothing_else(path: Path) -> None:
    tiny_index(path, [("a.txt", b"Ada met Bob.")])
    with open_workspace(path) as store:
        before = store.log.revision
        keep_prompt(store, "extract", f"{MARK} {TASKS['extract'].prompt}")
        assert store.log.revision == before
        choose(store, ModelChoice("tiny", "http://127.0.0.1:9/v1"))
        changed = store.log.revision
        keep_prompt(store, "plan", "Other.")
        assert store.log.revision == changed
        keep_prompt(store, "extract", "")
        assert store.log.revision > changed


@pytest.mark.parametrize(("purpose", "setting"), [
    ("answer", "in Settings, Calls, or with --reply-tokens"),
    ("extract", "on Documents or with --reply-tokens")])
@pytest.mark.replies(reply=lambda _: '{"high_level_keywords": ["x"], "low_level_keywords": []}')
def test_a_used_up_limit_says_which_setting_to_raise(
        purpose: str, setting: str, path: Path, server: FaultServer) -> None:
    server.fault = lambda *_: "truncated"
    model = Metered(Endpoint("tiny", server.url), str(path), Meter(), FREE, purpose=purpose)
    with pytest.raises(ReplyLimitError, match=setting):
        model.complete([Message("user", "Who?")], schema={"required": ["questions"]})
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("purpose")
    assert total.tokens_out > 0  # what was written is paid


def test_the_command_lists_sets_and_brings_back(
        path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    KnowledgeGraph(path).add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    own_prompt = tmp_path / "plan.txt"
    own_prompt.write_text("Name the keywords as JSON.", "utf-8")
    assert main(["prompts", "--db", str(path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["prompts"]
    assert [row["prompt"] for row in listed] == list(TASKS)
    assert main(["prompts", "plan", "--db", str(path), "--set", str(own_prompt)]) == 0
    assert capsys.readouterr().out.strip() == "Name the keywords as JSON."
    assert main(["prompts", "plan", "--db", str(path), "--ours", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ours"]
    own_prompt.write_text("No field.", "utf-8")
    assert main(["prompts", "answer", "--db", str(path), "--set", str(own_prompt)]) == 2
    assert "{mark}" in capsys.readouterr().err
