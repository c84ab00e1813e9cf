"""A retriever from outside next to ours: what it returns is matched with the passages."""

import json
import math
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import pytest

from qafd.cli import main
from qafd.errors import ParameterError
from qafd.reasons import NoticeKind
from qafd.retrieve.external import External, measure_overlap
from qafd.wording.reasons import word_notice, word_reason

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def passages(apple):
    return apple.retrieve(QUESTION, "lexical").passages[:3]


def column_of(apple, retriever):
    return apple.compare(QUESTION, {"qafd": ..., "mine": retriever}, budget=10**6).columns[1]


def found_by(apple, retriever):
    column = column_of(apple, retriever)
    assert column.error is None
    return list(column.list_ids("passages"))


@pytest.mark.parametrize("form", [
    lambda p: p.text, lambda p: {"id": p.id}, lambda p: {"id": p.chunk, "text": "other words"},
    lambda p: {"text": p.text[: 2 * len(p.text) // 3]}, lambda p: f"Before. {p.text} And after it.",
    lambda p: p.text.upper(), lambda p: {"id": "of theirs", "text": p.text, "score": None}],
    ids=["text", "node", "passage", "a part", "more", "capitals", "another id"])
def test_results_are_matched_by_id_or_by_text(form, apple, passages):
    assert found_by(apple, lambda _: [form(p) for p in passages]) == [p.id for p in passages]


def test_scores_order_the_results(apple, passages):
    scored = [(p.text, float(score)) for p, score in zip(passages, (1, 3, 2), strict=True)]
    assert found_by(apple, lambda _: scored) == [passages[i].id for i in (1, 2, 0)]
    unscored = [{"text": p.text, "score": score} for p, score in zip(
        passages, (1, 3, None), strict=True)]
    assert found_by(apple, lambda _: unscored) == [p.id for p in passages]


def test_what_matches_nothing_is_counted_and_shown(apple, passages):
    strange = "Penguins of the southern ocean breed on ice in winter."
    column = column_of(apple, lambda _: [strange, passages[0].text, {"id": "no such id"}])
    (notice,) = column.retrieval.notices
    assert notice.kind == NoticeKind.FOREIGN_UNMATCHED
    assert (notice.values["count"], notice.values["total"]) == (2, 3)
    assert strange.rstrip(".") in word_notice(notice)
    assert column.list_ids("passages") == (passages[0].id,)
    assert "mine" in word_reason(column.brought_passages[0].reason)


def test_nothing_found_is_a_column_without_passages(apple):
    column = column_of(apple, lambda _: [])
    assert [n.kind for n in column.retrieval.notices] == [NoticeKind.FOREIGN_EMPTY]
    assert column.list_ids("passages") == ()


def fail(_):
    raise RuntimeError("the index is gone")


@pytest.mark.parametrize(("retriever", "words"), [
    (fail, "the index is gone"), (lambda _: None, "no list"), (lambda _: "text", "no list"),
    (lambda _: {"hits": []}, "no list"), (lambda _: [5], "neither"), (lambda _: [{}], "neither"),
    (lambda _: [{"text": ""}], "neither"), (lambda _: [("text", math.nan)], "finite"),
    (lambda _: [("text", "high")], "finite"), (lambda _: [{"text": b"text"}], "neither"),
    (lambda _: ["text"] * 201, "more than 200"), (lambda _: iter("abc" for _ in iter(int, 1)), "200")])
def test_what_cannot_be_read_fails_alone_in_one_sentence(retriever, words, apple):
    comparison = apple.compare(QUESTION, {"qafd": None, "mine": retriever})
    assert comparison.columns[0].error is None
    assert words in str(comparison.columns[1].error)


@pytest.mark.parametrize("methods", [
    {"qafd": ..., "pagerank": lambda _: []}, {"qafd": ..., "mine": 5}, {"qafd": ..., "": fail},
    {"qafd": ..., "<b>": fail}, {"qafd": ..., "nobody": ...}, {"mine": fail}])
def test_a_column_that_cannot_be_is_refused(methods, apple):
    with pytest.raises(ParameterError):
        apple.compare(QUESTION, methods)


def test_retrievers_of_langchain_and_llama_index_are_columns(apple):
    from qafd.serving.langchain import LangChainRetriever
    from qafd.serving.llama_index import LlamaIndexRetriever

    expected = [p.id for p in apple.retrieve(QUESTION).passages[:4]]
    assert found_by(apple, LangChainRetriever(knowledge=apple, k=4)) == expected
    assert found_by(apple, LlamaIndexRetriever(apple, k=4)) == expected


@pytest.mark.parametrize(("text", "passage", "share"), [
    ("a b c d e f", "x a b c d e f y", 1), ("a b c d e f g h i j", "a b c d e f x y z w", 0.5),
    ("a b c d e f", "f e d c b a", 0), ("", "a", 0), ("", "", 0),
    ("at the end of the", "it stood at the end of the road", 0), ("a b c", "a b c", 1),
    ("before a b c after", "a b c", 1), ("a b c d", "a b c d e f", 0)],
    ids=["within", "half", "order", "empty", "both empty", "short by chance", "short and the same",
         "a short passage within", "part of a passage"])
def test_overlap_is_of_runs_of_words_and_short_texts_need_more_of_it(text, passage, share):
    assert measure_overlap(text, passage) == share


class Service(BaseHTTPRequestHandler):
    reply = b""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert asked == {"question": QUESTION}
        self.send_response(503 if self.path == "/broken" else 200)
        self.end_headers()
        if self.path == "/endless":
            self.server.held.wait(20)  # type: ignore[attr-defined]
        with suppress(OSError):  # the other side has hung up
            self.wfile.write(b"[" * 11_000_000 if self.path == "/huge" else self.reply)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def service():
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        server.held = Event()  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.held.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def test_a_service_is_asked_over_http(apple, passages, service, capsys):
    Service.reply = json.dumps({"results": [{"text": p.text} for p in passages]}).encode()
    url = f"http://127.0.0.1:{service.server_port}/search"
    assert found_by(apple, External(url)) == [p.id for p in passages]
    assert main(["compare", QUESTION, "--db", apple.place.written, "--methods",
                 f"qafd,mine={url}"]) == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(("path", "reply", "words"), [
    ("/broken", b"{}", "503"), ("/search", b"<html>", "not JSON"), ("/search", b"", "not JSON"),
    ("/huge", b"", "more than 10 MB"), ("/endless", b"", "no answer within 0.2 s"),
    ("/search", b"[" * 100_000, "not JSON"), ("/search", b'[{"text": "a", "score": NaN}]', "finite")])
def test_a_service_that_fails_is_one_sentence(path, reply, words, apple, service):
    Service.reply = reply
    url = f"http://127.0.0.1:{service.server_port}{path}"
    error = column_of(apple, External(url, 0.2 if path == "/endless" else 20)).error
    assert words in str(error)
    assert "\n" not in str(error)


def test_recorded_results_are_a_method_of_the_command(apple, passages, tmp_path, capsys):
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"question": QUESTION, "results": [passages[1].text]}) + "\n")
    command = ["compare", QUESTION, "--db", apple.place.written, "--methods", f"qafd,mine={file}"]
    assert main([*command, "--json"]) == 0
    column = json.loads(capsys.readouterr().out)["columns"][1]
    assert (column["name"], [p["id"] for p in column["retrieval"]["passages"]]) == (
        "mine", [passages[1].id])
    file.write_text('{"question": "Another?", "results": []}\n')
    assert main(command) == 1
    assert "has no results" in capsys.readouterr().err
    file.write_text("{")
    assert main(command) == 2


@pytest.mark.parametrize("url", ["", "host/search", "ftp://host/x", "http://"])
def test_a_service_has_an_address(url):
    with pytest.raises(ParameterError):
        External(url)
