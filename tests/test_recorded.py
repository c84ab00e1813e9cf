"""Retrievals that other systems recorded: read, saved as runs, asked again, marked and measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from qafd.cli import main
from qafd.errors import ParameterError, ParseError
from qafd.evaluate import evaluate
from qafd.evaluate.collection import name_passage, saved_questions
from qafd.evaluate.gold import Question
from qafd.evaluate.measures import find_verdict
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import NoticeKind
from qafd.retrieve.external import ForeignMethod, RetrieverError
from qafd.retrieve.recorded import MOST_BYTES, RecordedRetrieval, Recording, read_recording
from qafd.runs import list_runs, load_run
from qafd.runs.imported import (
    AGREEMENT,
    add_file,
    compare_node,
    import_recording,
    list_foreign,
    mark_answer,
    put_disagreements_first,
    read_columns,
    read_marks,
)
from qafd.wording.comparison import say_compared, say_missed
from qafd.wording.reasons import word_notice

QUESTION = "Introduce Steve Jobs's products in Apple."
STRANGE = "Penguins of the southern ocean breed on ice in winter."
CHUNKS = [{"reference_id": "1", "content": STRANGE, "chunk_id": "chunk-1"}]


class Search(BaseRetriever):
    """A retriever of LangChain with two documents."""

    def _get_relevant_documents(self, *_, **__):
        return [Document(page_content="Steve Jobs led Apple.", metadata={"score": 0.9}, id="a"),
                Document(page_content="The Amazon is a river.", metadata={}, id="b")]


@pytest.fixture(scope="module")
def spans():
    """The spans of a question to a retriever of LangChain below a span that answers."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        tracer = provider.get_tracer("test")
        with tracer.start_as_current_span("chain") as root:
            Search().invoke(QUESTION)
            root.set_attribute("output.value", "The iPod.")
    finally:
        instrumentor.uninstrument()
    return tuple(memory.get_finished_spans())


def otlp(spans):
    from google.protobuf.json_format import MessageToJson

    return MessageToJson(encode_spans(spans), indent=None)


def phoenix(span):
    """A span as Phoenix nests it."""
    return json.dumps({"name": span.name, "context": {"trace_id": "t"}, "parent_id": None, "attributes": {
        "openinference": {"span": {"kind": "RETRIEVER"}}, "input": {"value": QUESTION},
        "retrieval": {"documents": [{"document": {"content": "Steve Jobs led Apple.", "score": .9}},
                                    {"document": {"content": "The Amazon is a river."}}]}}})


@pytest.mark.parametrize("form", [
    otlp, lambda spans: f"{otlp(spans)}\n{{broken\n",
    lambda spans: "\n".join(span.to_json(indent=None) for span in spans),
    lambda spans: "[" + ",".join(span.to_json() for span in spans) + "]"],
    ids=["OTLP", "a broken line", "lines of the SDK", "an array of the SDK"])
def test_spans_of_langchain_are_questions_with_results_and_answer(form, spans):
    (found,) = read_recording(form(spans).encode(), "spans.json").found
    assert (found.question, found.answer) == (QUESTION, "The iPod.")
    assert [result["content"] for result in found.results] == [
        "Steve Jobs led Apple.", "The Amazon is a river."]
    assert found.at.startswith("20")


def test_a_nested_span_and_one_of_the_genai_conventions_are_read(spans):
    other = json.dumps({"trace_id": "u", "attributes": {
        "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "Who?",
        "gen_ai.retrieval.documents": json.dumps([{"id": "a", "score": 0.5}])}})
    first, second = read_recording(f"{phoenix(spans[0])}\n{other}".encode(), "spans.jsonl").found
    assert [result.get("score") for result in first.results] == [0.9, None]
    assert (second.question, second.results) == ("Who?", [{"id": "a", "score": 0.5}])


@pytest.mark.parametrize("results", [
    {"data": {"chunks": CHUNKS, "entities": [{"entity_name": "Steve Jobs"}], "relationships": [{}]}},
    {"context": "Entities:\n\n```json\n" + json.dumps({"entity": "Steve Jobs", "type": "person"})
     + "\n```\n\nChunks:\n\n```json\n" + json.dumps(CHUNKS[0]) + "\n```\n"},
    {"context_data": {"sources": [{"id": "7", "text": STRANGE}],
                      "entities": [{"id": "0", "entity": "STEVE JOBS", "description": "A person."}],
                      "relationships": [{"id": "0", "source": "STEVE JOBS"}], "reports": []}}],
    ids=["LightRAG", "context of LightRAG", "GraphRAG"])
def test_entities_of_other_systems_are_drawn_as_those_of_the_graph(results, apple):
    line = json.dumps({"query": QUESTION, "response": "The iPod.", **results})
    recording = read_recording(line.encode(), "out.jsonl")
    assert recording.found[0].answer == "The iPod."
    column = apple.compare(QUESTION, {"qafd": ..., "mine": lambda _: recording.found[0].results}).columns[1]
    assert [node.name for node in column.found] == ["Steve Jobs"]
    (notice,) = column.retrieval.notices  # the text is not one of these documents
    assert (notice.kind, notice.values["count"], notice.values["total"]) == (
        NoticeKind.FOREIGN_UNMATCHED, 1, 2)


def test_what_graphrag_3_3_returned_is_imported(knowledge):
    """The context data of its local, global and basic search over the sample, with a stub model."""
    data = (Path(__file__).parent / "data" / "graphrag-3.3.0.jsonl").read_bytes()
    done = import_recording(knowledge, read_recording(data, "graphrag.jsonl"), "theirs")
    assert (len(done.ids), done.unmatched, done.left_out) == (3, 2, ())
    with knowledge.store() as store:
        runs = [load_run(store, key) for key in done.ids]
    passages = [[passage.document for passage in run.retrieval.passages] for run in runs]
    assert passages == [["steve-jobs.md", "tim-cook.md", "macintosh.md"], [],
                        ["tim-cook.md", "amazon-com.md", "macintosh.md"]]
    assert {"Steve Jobs", "Apple"} <= {node.name for node in runs[0].retrieved}
    (notice,) = runs[1].retrieval.notices  # reports of a model are none of these documents
    assert notice.kind == NoticeKind.FOREIGN_UNMATCHED
    assert all(run.quotes for run in runs)


def test_the_first_entity_is_the_most_important(apple):
    names = ["Tim Cook", "Apple", "Steve Jobs"]
    text = apple.retrieve(QUESTION).passages[0].text
    results = [{"text": text, "score": 7.0}, *({"entity": name} for name in names)]
    column = apple.compare(QUESTION, {"qafd": ..., "mine": lambda _: results}).columns[1]
    assert [node.name for node in column.found] == names
    assert column.found[0].importance == 7
    drawn = {node.id for node in column.retrieval.nodes}
    assert any({edge.source, edge.target} <= drawn for edge in column.retrieval.edges)


def test_a_table_of_pandas_is_a_list_of_results(apple):
    import pandas

    texts = [passage.text for passage in apple.retrieve(QUESTION, "lexical").passages[:3]]
    table = pandas.DataFrame({"text": texts, "score": [1.0, 3.0, 2.0]})
    column = apple.compare(QUESTION, {"qafd": ..., "mine": lambda _: {"sources": table}}).columns[1]
    assert [passage.text for passage in column.retrieval.passages] == [texts[i] for i in (1, 2, 0)]


@pytest.mark.parametrize(("data", "words"), [
    (b"", "has no retrieval"), (b"{}", "has no retrieval"), (b"[1, 2]", "is int"), (b"no JSON", "no JSON"),
    (b'{"question": "Who?"}', "no list"), (b'{"question": "Who?", "results": [{}]}', "neither"),
    (b'{"question": "Who?", "results": [{"text": "a", "score": NaN}]}', "finite"),
    (b'{"attributes": {"openinference.span.kind": "RETRIEVER"}}', "no question"),
    (b"[" * 100_000, "no JSON"), (b" " * (MOST_BYTES + 1), "100 MB")])
def test_a_file_without_a_retrieval_is_refused_with_the_reason(data, words):
    with pytest.raises(ParseError, match=words):
        read_recording(data, "mine.jsonl")


def recording_of(apple):
    """Two questions: one with the flow's own passages, one with others."""
    own = [passage.text for passage in apple.retrieve(QUESTION).passages[:5]]
    return Recording((RecordedRetrieval(QUESTION, own, "The iPod.", "2026-01-02T03:04:05+00:00"),
                      RecordedRetrieval("Which river meets the Amazon near Manaus?", [STRANGE, own[0]]),
                      RecordedRetrieval("Who is paid?", [("text", float("nan"))])), ("record 9 is no JSON",))


@pytest.fixture
def knowledge(tmp_path):
    return KnowledgeGraph.sample("apple-amazon", tmp_path)


def test_what_is_imported_is_a_run_a_method_and_a_row(knowledge):
    recording = recording_of(knowledge)
    done = import_recording(knowledge, recording, "mine")
    assert (len(done.ids), done.results, done.unmatched, len(done.left_out)) == (2, 7, 1, 2)
    again = import_recording(knowledge, recording, "mine")
    with knowledge.store() as store:
        rows = list_runs(store)
        assert {row.id for row in rows} == set(again.ids)
        run = load_run(store, again.ids[0])
    assert (run.quotes[0].text, run.made_at[:10]) == ("The iPod.", "2026-01-02")
    agreement = {row.question: row.params[AGREEMENT] for row in rows}
    assert agreement[QUESTION] == 1
    assert agreement["Which river meets the Amazon near Manaus?"] < 0.5
    assert put_disagreements_first(rows, ())[0].question != QUESTION
    assert put_disagreements_first(rows, [rows[0].question, rows[1].question]) == rows
    (other,) = (row.question for row in rows if row.question != QUESTION)
    assert put_disagreements_first(rows, [other])[0].question == QUESTION
    mine = list_foreign(knowledge)["mine"]
    comparison = knowledge.compare(QUESTION, {"qafd": ..., "mine": mine})
    assert comparison.columns[1].list_ids("passages") == tuple(
        passage.id for passage in run.retrieval.passages)
    other = knowledge.compare("Which river meets the Amazon near Manaus?", {"qafd": ..., "mine": mine})
    assert STRANGE.rstrip(".") in word_notice(other.columns[1].retrieval.notices[0])  # type: ignore[union-attr]
    assert hash(mine) == hash(list_foreign(knowledge)["mine"])
    assert mine == list_foreign(knowledge)["mine"]
    assert "no run of mine" in str(knowledge.compare("Who?", {"qafd": ..., "mine": mine}).columns[1].error)


def test_a_row_counts_the_questions_that_only_the_flow_answers(knowledge):
    texts = {passage.document: passage.text for passage in knowledge.retrieve(QUESTION).passages}
    import_recording(knowledge, Recording((
        RecordedRetrieval(QUESTION, [texts["steve-jobs.md"]]),
        RecordedRetrieval("Which cultivar gave the Macintosh its name?", [texts["steve-jobs.md"]]))), "mine")
    asked = [Question("1", QUESTION, ("steve-jobs.md",)),
             Question("2", "Which river meets the Amazon near Manaus?", ("amazon-river.md",)),
             Question("3", "Which cultivar gave the Macintosh its name?", ("macintosh.md",))]
    result = evaluate(knowledge, asked, read_columns(knowledge, "qafd,mine"))
    own = result.scores[1]
    assert (own.foreign, own.errors, own.missed) == (True, 1, {2})
    assert own.intervals["recall@5"].mean == pytest.approx(1 / 3)
    assert own.difference.mean == pytest.approx(-2 / 3)
    flow = result.scores[0]
    blind = replace(flow, trials=tuple(replace(trial, ranks=(None,)) for trial in flow.trials))
    for other, found in ((flow, "1"), (blind, "0")):
        (sentence,) = say_missed([other, own])
        assert [word for word in sentence.split() if word.strip(".;").isdecimal()] == ["2", "1;", found]


def test_a_mark_is_gold_and_can_be_taken_back(knowledge):
    mark_answer(knowledge, "Who  made it?", "a.md")
    mark_answer(knowledge, "Who made it?", "b.md")
    assert read_marks(knowledge) == {"Who made it?": ("a.md", "b.md")}
    mark_answer(knowledge, "Who made it?", "a.md")
    assert [question.gold for question in saved_questions(knowledge)] == [("b.md",)]
    mark_answer(knowledge, "Who made it?", "b.md")
    assert not saved_questions(knowledge)


def test_a_marked_passage_counts_alone(tmp_path):
    """Of a document of three passages only the marked one is gold, and its rank counts passages."""
    knowledge = KnowledgeGraph.open(tmp_path / "w.db")
    parts = [f"{name} keeps {thing} in the old tower. " * 12 for name, thing in (
        ("Ada Quint", "bees"), ("Bruno Vale", "maps"), ("Clara Moss", "salt"))]
    knowledge.add_text("towers.txt", "\n\n".join(parts))
    question = "Who keeps salt?"
    passages = knowledge.retrieve(question, "lexical").passages
    marked = next(passage for passage in passages if "Clara" in passage.text)
    other = next(passage for passage in passages if "Ada" in passage.text)
    mark_answer(knowledge, question, name_passage(marked))
    methods = {"right": lambda _: [marked.text], "wrong": lambda _: [other.text],
               "second": lambda _: [other.text, marked.text]}
    result = evaluate(knowledge, saved_questions(knowledge), {
        name: ForeignMethod(name, method) for name, method in methods.items()})  # type: ignore[misc]
    assert [score.trials[0].ranks for score in result.scores] == [(1,), (None,), (2,)]
    comparison = knowledge.compare(question, {"a": methods["wrong"], "b": methods["second"]})
    verdict = find_verdict(comparison, {}, frozenset({marked.chunk}))
    assert verdict.places == {"a": {}, "b": {marked.chunk: 2}}
    knowledge.add_text("towers.txt", "Nothing is kept.")
    with pytest.raises(ParameterError, match="no gold document"):
        evaluate(knowledge, saved_questions(knowledge), {"right": methods["right"]})  # type: ignore[dict-item]


def test_a_node_is_told_by_both(apple):
    explanation = apple.explain(QUESTION)
    jobs, other = (next(p for p in apple.retrieve(QUESTION).passages if p.document == name)
                   for name in ("steve-jobs.md", "malus-domestica.md"))

    def told(node, *texts):
        column = apple.compare(QUESTION, {"qafd": ..., "mine": lambda _: list(texts)}).columns[1]
        assert column.retrieval is not None
        return say_compared(compare_node(explanation, node, column.retrieval))

    assert told(jobs.id, STRANGE, other.text).startswith("mine misses ¶ Steve Jobs; the graph reaches")
    assert told(jobs.id, other.text, jobs.text).startswith("mine returns ¶ Steve Jobs as number 2; the")
    assert "mentions iPod in its passage 2" in told("iPod", other.text, jobs.text)
    assert told(other.id, other.text).endswith("the flow does not retrieve it.")
    assert told(other.id, jobs.text).startswith("Neither")


@pytest.mark.parametrize("spec", ["pagerank=x.jsonl", "mine=/nowhere/x.jsonl", "nobody", "<b>=x"])
def test_a_retriever_that_cannot_be_opened_is_refused(spec, apple):
    with pytest.raises(ParameterError):
        read_columns(apple, f"qafd,{spec}")


def test_a_name_of_ours_is_refused_before_anything_is_saved(knowledge):
    for name in ("pagerank", "LightRAG", "<b>", ""):
        with pytest.raises(ParameterError):
            import_recording(knowledge, recording_of(knowledge), name)
    with pytest.raises(ParseError):
        add_file(knowledge, b"{}", "mine")
    with knowledge.store() as store:
        assert not list_runs(store)
    with pytest.raises(RetrieverError):
        list_foreign(knowledge).get("mine", fail)(QUESTION)  # type: ignore[operator]


def fail(_):
    raise RetrieverError("there is none")


def test_the_commands_import_measure_and_explain(knowledge, tmp_path, capsys):
    file = tmp_path / "mine.jsonl"
    text = knowledge.retrieve(QUESTION, "lexical").passages[0].text
    file.write_text(json.dumps({"question": QUESTION, "results": [text, STRANGE]}) + "\n{broken\n")
    db = ["--db", knowledge.place.written]
    assert main(["runs", "--add", str(file), "--as", "mine", *db]) == 0
    printed = capsys.readouterr()
    assert "1 question of mine saved, with 2 results" in printed.err
    assert "Left out: 1 record" in printed.err
    assert main(["eval", "retrieval", "--methods", "qafd,mine", *db]) == 2  # nothing is marked yet
    mark_answer(knowledge, QUESTION, "steve-jobs.md")
    assert main(["eval", "retrieval", "--methods", f"qafd,mine,theirs={file}", "--json", "-", *db]) == 0
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert methods["mine"]["recall@5"] == methods["theirs"]["recall@5"]
    assert methods["mine"]["recall@5_interval"]
    assert main(["why", QUESTION, "iPod", "--against", f"mine={file}", *db]) == 0
    assert "iPod" in capsys.readouterr().out.splitlines()[-1]
