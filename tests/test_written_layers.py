"""Reports, summaries and descriptions that a language model writes: planned, capped, kept, erased."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import TinyEmbedder, TinyExtractor, tiny_index

from qafd.cli import main
from qafd.errors import ReplyLimitError, SpendingCapError
from qafd.ingest import erase, index
from qafd.knowledge import (
    KnowledgeGraph,
    draft_answer,
    plan_layers,
    read_layer_states,
    write_layers,
)
from qafd.models import CallSettings
from qafd.models.cost import FREE, Cap, Meter, Metered
from qafd.models.endpoint import Endpoint
from qafd.records import Description
from qafd.retrieve.layers import LAYERS, WRITABLE, layers_of, merged_descriptions
from qafd.storage import open_workspace

TEXT = "Ada Lovelace met Charles Babbage in London. Charles Babbage met Ada Lovelace."
FILES = [(f"{at}.txt", f"{one} met {two}. {two} met Zed.".encode()) for at, (one, two) in enumerate(
    [("Ada", "Bob"), ("Bob", "Cyd"), ("Cyd", "Ada"), ("Dan", "Eve"), ("Eve", "Fay"), ("Fay", "Dan"),
     ("Gil", "Hal"), ("Hal", "Ian"), ("Ian", "Gil"), ("Jan", "Kay"), ("Kay", "Lee"), ("Lee", "Jan")])]


class Describing(TinyExtractor):
    """Says another fact of Ada in every document."""

    def extract_all(self, chunks):
        found = []
        for chunk, extraction in zip(chunks, super().extract_all(chunks), strict=True):
            said = Description("ada", text=f"Fact {chunk.document.removesuffix('.txt')} of Ada.")
            found.append(replace(extraction, descriptions=(said,)))
        return tuple(found)


def echo(body):
    """A model that says back the first line of what it is shown, marked as its own."""
    return "Written: " + body["messages"][1]["content"].splitlines()[1]


pytestmark = pytest.mark.replies(reply=echo)


@pytest.fixture
def knowledge(path):
    tiny_index(path, FILES)
    return KnowledgeGraph(path, TinyEmbedder())


def model(knowledge, server, most=None):
    return Metered(Endpoint("tiny", server.url), knowledge.url, Meter(Cap(calls=most)), FREE, server.url,
                   "write", "write 1")


def layer(knowledge, name):
    return next(one for one in read_layer_states(knowledge) if one.name == name)


def texts(knowledge, name):
    with knowledge.store() as store:
        return layers_of(store.graph.read(), store, [name])[name].texts


@pytest.mark.parametrize("name", ["communities", "summaries", "tree"])
def test_the_plan_is_what_is_called_and_every_text_is_the_model_s(name, knowledge, server):
    planned = plan_layers(knowledge, [name], model(knowledge, server))
    assert server.bodies == []
    write_layers(knowledge, [name], model(knowledge, server))
    assert planned.calls[0] == len(server.bodies) > 0
    assert all("Written: " in text for text in texts(knowledge, name))
    state = layer(knowledge, name)
    assert (state.model, state.written) == ("tiny", state.texts)
    assert plan_layers(knowledge, [name], model(knowledge, server)).calls == (0, 0)


def test_passages_of_one_text_are_written_once_and_each_has_it(path, server):
    records = [json.dumps({"id": name, "title": "Ada", "text": "Ada met Bob."}) for name in ("one", "two")]
    tiny_index(path, [("two.jsonl", "\n".join(records).encode())])
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    write_layers(knowledge, ["summaries"], model(knowledge, server))
    assert len(server.bodies) == 1
    assert texts(knowledge, "summaries") == ("Ada\nWritten: Ada",) * 2


def test_what_a_cap_stopped_is_used_and_goes_on_without_paying_twice(knowledge, server):
    with pytest.raises(SpendingCapError):
        write_layers(knowledge, ["summaries"], model(knowledge, server, most=8))
    assert len(server.bodies) == 8
    written = sum("Written: " in text for text in texts(knowledge, "summaries"))
    assert written == layer(knowledge, "summaries").written == 8
    write_layers(knowledge, ["summaries"], model(knowledge, server))
    assert len(server.bodies) == len(FILES)


def test_layers_that_follow_the_graph_keep_what_was_written_and_call_nobody(knowledge, server):
    write_layers(knowledge, ["summaries"], model(knowledge, server))
    paid = len(server.bodies)
    tiny_index(Path(knowledge.url.removeprefix("sqlite://")), [("new.txt", b"Mia met Ned.")])
    knowledge.build_layers(["summaries"])
    found = texts(knowledge, "summaries")
    assert len(server.bodies) == paid
    assert sum("Written: " in text for text in found) == len(found) - 1 == len(FILES)
    state = layer(knowledge, "summaries")
    assert (state.written, state.texts) == (len(FILES), len(FILES) + 1)


@pytest.mark.parametrize("fault", ["empty", "truncated"])
def test_a_reply_of_no_use_leaves_the_sentences_of_the_documents(fault, knowledge, server):
    knowledge.build_layers(["summaries"])
    before = texts(knowledge, "summaries")
    if fault == "empty":
        server.reply = lambda _: " "
        write_layers(knowledge, ["summaries"], model(knowledge, server))
    else:
        server.fault = lambda *_: "truncated"
        with pytest.raises(ReplyLimitError, match="--reply-tokens"):
            write_layers(knowledge, ["summaries"], model(knowledge, server))
    assert texts(knowledge, "summaries") == before
    assert layer(knowledge, "summaries").written == 0


def test_its_own_limit_is_sent(knowledge, server):
    endpoint = Endpoint("tiny", server.url).with_settings(CallSettings(reply_tokens=77))
    write_layers(knowledge, ["communities"], Metered(
        endpoint, knowledge.url, Meter(), FREE, server.url, "write"))
    for body in server.bodies:
        assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_erasing_a_document_forgets_what_was_written_from_it_and_keeps_the_rest(knowledge, server):
    write_layers(knowledge, ["summaries", "communities"], model(knowledge, server))
    erase(knowledge.url, ["0.txt"], extractor=TinyExtractor, embedder=TinyEmbedder)
    knowledge.build_layers(["summaries", "communities"])
    found = texts(knowledge, "summaries")
    assert len(found) == len(FILES) - 1
    assert all("Written: " in text for text in found)
    body = Path(knowledge.url.removeprefix("sqlite://")).read_bytes()
    assert b"Ada met Bob" not in body
    with knowledge.store() as store:
        assert store.ledger.replies(["1.txt"]) >= 1


def test_many_descriptions_of_an_entity_become_one_that_answers_are_shown(path, server):
    index(path, [(f"{at}.txt", f"Ada met P{at}.".encode()) for at in range(6)], extractor=Describing,
          embedder=TinyEmbedder, processes=1)
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    write_layers(knowledge, ["descriptions"], model(knowledge, server))
    shown = server.bodies[0]["messages"][1]["content"]
    assert len(server.bodies) == 1
    assert all(f"Fact {at} of Ada." in shown for at in range(6))
    with knowledge.store() as store:
        (text,) = merged_descriptions(store).values()
    assert text.startswith("Written: ")
    retrieval = knowledge.retrieve("Who met Ada?", mass=20)
    assert text in draft_answer(knowledge, retrieval).context.text


def test_a_model_is_shown_its_reports_on_the_communities_that_a_diffusion_fills_most(
        knowledge, server):
    def reports(retrieval):
        text = draft_answer(knowledge, retrieval, budget=4000).context.text
        return [line.partition(": Written: ")[2] for line in text.splitlines() if ": Written: " in line]

    knowledge.build_layers(["communities"])
    assert "Community reports" not in draft_answer(
        knowledge, knowledge.retrieve("Whom did Gil meet?")).context.text
    write_layers(knowledge, ["communities"], model(knowledge, server))
    retrieval = knowledge.retrieve("Whom did Gil meet?", mass=18.0)
    filled = dict.fromkeys(texts(knowledge, "communities"), 0.0)
    for node in retrieval.nodes:
        for text in filled:
            if node.kind == "entity" and node.name in text:
                filled[text] += node.importance
    best = sorted((text for text in filled if filled[text] > 0), key=lambda text: -filled[text])[:3]
    assert len(best) > 1
    assert [f"Written: {line}" for line in reports(retrieval)] == best
    assert reports(knowledge.retrieve("Whom did Gil meet?", "vector")) == []


@pytest.mark.usefixtures("alone")
def test_the_command_writes_only_when_it_is_told_to(tmp_path, server, monkeypatch, capsys):
    path = str(tmp_path / "songs.db")
    songs = KnowledgeGraph(path)
    songs.add_text("ada.txt", TEXT)
    monkeypatch.setenv("QAFD_MODEL", "tiny")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert main(["layers", "--db", path, "--build", "all"]) == 0
    assert server.bodies == []
    command = ["layers", "--db", path, "--build", "summaries", "--write"]
    assert main([*command, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert server.bodies == []
    assert main([*command, "--max-tokens", "1"]) == 4
    assert main(command) == 0
    assert len(server.bodies) == planned["calls"][0]
    assert main(["layers", "--db", path, "--write"]) == 2
    songs.add_text("bob.txt", "Bob left Oslo for Rome in May.")
    assert main(["layers", "--db", path, "--build", "all", "--write"]) == 0
    assert {layer.name: layer.state for layer in read_layer_states(songs)} == dict.fromkeys(LAYERS, "built")
    assert set(WRITABLE) <= {one.name for one in read_layer_states(songs)}
    with open_workspace(path) as store:
        assert {total.what for total in store.ledger.totals("purpose")} == {"write"}
