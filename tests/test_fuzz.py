"""Random edits, files, replies, visitors and calls, as `make test-hostile` runs them.

Each test prints its seed and ends after `--seconds`. `--seed N` repeats a run.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from time import monotonic

import pytest
from files import docx_of, epub, mutated, pdf, read_here, zipped
from hostile import STRINGS
from test_access import METHODS as VERBS
from test_access import ROUTES, Door, session
from tiny import tiny_index, tiny_work

from qafd.curate import entities as curate
from qafd.curate.neighbors import connect, disconnect
from qafd.curate.splitting import split
from qafd.errors import ParseError, QafdError
from qafd.export.formats import FORMATS, OF_RETRIEVAL
from qafd.ingest.jobs import enqueue
from qafd.installation import check_workspace
from qafd.knowledge import KnowledgeGraph
from qafd.models import Reply, with_json
from qafd.models.prompts import last_passage, read_passages
from qafd.models.prompts_answer import (
    correct_schema,
    judge_schema,
    read_correct,
    read_follow,
    read_grades,
    read_plan,
)
from qafd.models.thoughts import hear
from qafd.reading.parsing import parse_with_notices
from qafd.retrieve import METHODS
from qafd.retrieve.qafd import PRESETS
from qafd.samples import EXAMPLES, SAMPLES
from qafd.storage import open_workspace
from qafd.wording.explanations import say_along, say_balance, say_path, say_why, say_why_not
from qafd.wording.reasons import word_reason

pytestmark = pytest.mark.hostile
TEXTS = ("# Ada\n\nAda met Bob.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "name,town\nAda,Paris\n", "Ada\n===\n",
         '[{"id": 1, "text": "Ada met Bob."}]', "<html><table><tr><td>Ada<td>Bob</table></html>",
         "From: Ada\nSubject: Bob\n\nWe met.\n", "CREATE TABLE a (b INT); INSERT INTO a VALUES (1);",
         "1\n00:00:01,000 --> 00:00:02,000\nAda met Bob.\n")
KEYS = ("low_level_keywords", "high_level_keywords", "questions", "nodes", "edges", "grades", "correct",
        "id", "label", "description", "source", "target", "negated", "relation", "entity", "type",
        "comprehensiveness", "diversity", "logicality", "relevance", "coherence", "answer")
NAMES = ("Ada", "Bob", "Eve", "Carl", "Dora", "Finn")


class Rounds:
    """The rounds of a test until its time is over, with one source of chance."""

    def __init__(self, seed, seconds):
        self.chance = random.Random(seed)
        self._seed, self._seconds = seed, seconds
        self.counts: Counter[str] = Counter()

    def __iter__(self):
        till, number = monotonic() + self._seconds, 0
        while monotonic() < till:
            yield number
            number += 1
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        print(f"\nseed {self._seed}: {number:,} rounds; {counts}")

    def try_call(self, what, call, allowed=QafdError):
        """Count a call, and apart those that end in an error of a type that is allowed."""
        try:
            call()
        except allowed:
            what += " refused"
        self.counts[what] += 1


@pytest.fixture
def rounds(request):
    seed = request.config.getoption("--seed")
    seed = random.randrange(2**32) if seed is None else seed
    print(f"\nseed {seed}")  # before anything fails
    return Rounds(seed, request.config.getoption("--seconds"))


def _text(chance):
    names = [" ".join(chance.choices(NAMES, k=2)) for _ in range(3)]
    return f"{names[0]} met {names[1]}. {names[1]} wrote to {names[2]} in Lindau.".encode()


def _edit(store, chance):
    """Make one random edit, deletion or addition."""
    known = [entity.name for entity in curate.entities(store)] or ["Nobody"]
    one, other = chance.choice(known), chance.choice([*known, chance.choice(STRINGS)])
    numbers = [edit.id for edit in store.edits.all()] or [0]
    files = [file.name for file in store.files.all()]
    passages = [hit.chunk.id for hit in store.passages.search(one).hits] if one.isascii() else []
    steps = (
        partial(curate.call, store, one, other), partial(curate.hide, store, one),
        partial(connect, store, one, other), partial(disconnect, store, one, other),
        partial(split, store, known=one, name=other, passages=passages[:1]),
        partial(store.edits.undo, chance.choice(numbers)),
        partial(store.documents.delete, chance.choice(files)),
        partial(store.documents.undo, chance.choice(files)),
        partial(enqueue, store, [(f"{chance.randrange(8)}.txt", _text(chance))]))
    return chance.choice(steps)()


def test_random_edits_leave_the_graph_that_the_log_gives(rounds, tmp_path):
    path = tmp_path / "edits.db"
    tiny_index(path, [("a.txt", b"Ada met Bob. Eve wrote to Carl.")])
    for _ in rounds:
        with open_workspace(path) as store:
            rounds.try_call("edits", partial(_edit, store, rounds.chance))
            enqueue(store)
        tiny_work(path)
        broken = [check for check in check_workspace(path, deep=True) if not check.ok]
        assert broken == []


def test_random_bytes_are_read_or_refused_in_one_sentence(rounds):
    files = [pdf(("Ada met Bob.",)), docx_of(("Ada met Bob.", None)), epub("<p>Ada met Bob.</p>"),
             zipped({"a.txt": "Ada met Bob."}), *map(str.encode, TEXTS)]
    for _ in rounds:
        chance = rounds.chance
        data = mutated(chance.choice(files), chance)
        name = chance.choice((*STRINGS, "a.md", "a.html", "a.csv", "a.json", "a.rst", "a.eml", "a.sql"))
        rounds.try_call("files", partial(parse_with_notices, name, data, ask=read_here), ParseError)


def _json(chance, depth=0):
    """Build a value of JSON with the keys that our prompts ask for."""
    kind = chance.randrange(6 if depth < 4 else 4)
    if kind == 4:
        return [_json(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 5 or not depth:
        return {key: _json(chance, depth + 1) for key in chance.sample(KEYS, chance.randrange(8))}
    return chance.choice((chance.choice(NAMES), "X", "?x", "", chance.choice(STRINGS), 0, 1, -1, 50, 1e308,
                          True, False, None))


def _reply(chance):
    """Build a reply of pieces that models send, and of what they should not."""
    own = json.dumps(_json(chance))
    pieces = (own, own[:-1], '("entity"<|>Ada<|>PERSON<|>A name.)', "##", "<|COMPLETE|>", "<think>",
              "</think>", "[THINK]", "```json\n", "```", "\n" * 300, " " * 300, "{" * 300, '"' * 300, "\\",
              "Passage 1:", '{"a": {"b": ', chance.choice(STRINGS))
    if chance.random() < 0.5:
        return own
    return "".join(chance.choice(pieces) for _ in range(chance.randrange(12)))


def test_random_replies_of_models_are_read_or_refused(rounds):
    def read_json(schema, read, text):
        return read(with_json(Reply(text, 1, 1), schema).text)

    readers = {
        "plans": partial(read_json, {}, read_plan),
        "grades": partial(read_json, judge_schema(2), partial(read_grades, count=2)),
        "corrections": partial(read_json, correct_schema(2), partial(read_correct, count=2)),
        "passages": partial(read_passages, count=3), "last": last_passage,
        "follow-ups": lambda text: read_follow(Reply(text, 1, 1)), "thoughts": lambda text: hear(text, ())}
    for _ in rounds:
        text = _reply(rounds.chance)
        for what, read in readers.items():
            began = monotonic()
            rounds.try_call(what, partial(read, text))
            assert monotonic() - began < 20, f"{what} took too long"


def test_random_visitors_reach_nothing_without_a_session(rounds):
    doors = {login: Door(login) for login in ("password", "accounts")}
    signed_in = session(doors["password"].sign_in())
    for _ in rounds:
        chance = rounds.chance
        login, door = chance.choice(list(doors.items()))
        cookie = chance.choice((signed_in, signed_in[:-1], signed_in + "x", signed_in.swapcase(),
                                signed_in.replace("8501", "8502"), "", chance.choice(STRINGS)))
        cookie = cookie.encode("ascii", "ignore").decode()
        path = chance.choice(ROUTES) + chance.choice(("", "/", "//", "/..", "?q=1", "%00", "%2e%2e"))
        door.now += 100.0
        before = len(door.reached)
        kind = chance.choice(("http", "websocket"))
        door.knock(path, chance.choice(VERBS), chance.choice((b"", b"password=wrong", b"x" * 5_000)),
                   cookie, kind)
        may = login == "password" and cookie == signed_in
        assert len(door.reached) - before == may, (login, kind, path, cookie)
        rounds.counts["let in" if may else "kept out"] += 1


class Asker:
    """Random calls of explanations, answers and exports on a sample."""

    def __init__(self, knowledge, chance):
        self._knowledge, self._chance = knowledge, chance
        words = list(knowledge.graph.names)
        question = chance.choice((*EXAMPLES[knowledge.name], f"Who is {chance.choice(words)}?",
                                  f"{chance.choice(words)} and {chance.choice(words)}"))
        self.method = chance.choice(list(PRESETS if chance.random() < 0.8 else METHODS))
        self._plan = knowledge.plan(question)
        method = self.method
        if self.method in PRESETS:
            method = PRESETS[self.method].method.fit_to(knowledge.graph)
            if chance.random() < 0.5:
                method = replace(method, mass=chance.choice((0.0, 1e-6, 1.0, 40.0, method.mass)))
        self._retrieval = knowledge.retrieve(self._plan, method)
        self._explanation = None
        if self._retrieval.method == "qafd":
            self._explanation = knowledge.explain(self._retrieval, plan=self._plan)

    def calls(self):
        """Some two hundred calls on one retrieval."""
        chance, retrieval, explanation = self._chance, self._retrieval, self._explanation
        yield "answers", lambda: self._knowledge.answer(retrieval, self._plan)
        for form in chance.sample(list(OF_RETRIEVAL), 2):
            yield "exports", partial(FORMATS[form].write, retrieval)
        yield "reasons", lambda: [word_reason(node.reason) for node in retrieval.nodes]
        if explanation is None:
            return
        for id in chance.sample(list(self._knowledge.graph.ids), min(200, len(self._knowledge.graph))):
            if explanation.is_retrieved(id):
                yield "why", lambda id=id: self._say_why(id)
            elif chance.random() < 0.02:  # the search for the entry of a node is slow
                yield "why not", lambda id=id: say_why_not(explanation.why_not(id, 50))
        for edge in chance.sample(retrieval.edges, min(100, len(retrieval.edges))):
            yield "edges", lambda edge=edge: say_along(explanation.along(edge.source, edge.target))
        yield "paths", lambda: [say_path(path) for path in explanation.paths(5).paths]
        yield "chains", lambda: explanation.chains(3)

    def _say_why(self, id):
        why = self._explanation.why(id)
        return say_why(why) + say_balance(why.balance)


def test_random_calls_end_in_a_result_or_a_typed_error(rounds, tmp_path_factory):
    home = tmp_path_factory.mktemp("samples")
    samples = [KnowledgeGraph.sample(name, home) for name in SAMPLES]
    for sample in samples:
        sample.build_layers()
    for _ in rounds:
        knowledge = rounds.chance.choice(samples)
        with knowledge.store():
            for what, call in Asker(knowledge, rounds.chance).calls():
                rounds.try_call(what, call)
