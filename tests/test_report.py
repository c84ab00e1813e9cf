"""The report of a run says what the run says, and no text in it becomes markup."""

import re
from dataclasses import replace

import pytest
from hostile import STRINGS

from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedNode, RetrievedPassage
from qafd.runs.replay import recorded
from qafd.runs.report import report


@pytest.fixture(scope="module")
def run(apple):
    plan = apple.plan("Introduce Steve Jobs's products in Apple.")
    return recorded(apple, apple.retrieve(plan), plan, note="for the board")


def test_nothing_that_documents_say_becomes_markup(run):
    # what a reader of Markdown would act on, in every place that a text can stand in
    texts = [*STRINGS, "[x](javascript:alert(1))", "![x](http://evil.example/p.png)",
             "<img src=x onerror=alert(1)>", "http://evil.example", "www.evil.example",
             "a@evil.example", "| a | b |", "# head", "`code`", "line\n\n# head"]
    for text in (t[:300].replace("\ud800", "") for t in texts):
        node = RetrievedNode("1", text, text, 1.0, 1.0, "saturated", given_reason(text), capacity=1.0)
        passage = RetrievedPassage("1", "1", text, text, text, 1.0, 0, len(text))
        quote = replace(run.quotes[0], text=text, title=text, where=text)
        made = report(replace(run, note=text, quotes=(quote,), retrieval=Retrieval(
            text, text, {text: text}, (), (node,), (), (), (passage,))))
        assert not re.search(r"(?<!\\)<|(?<!\\)\]\(|://|www\.|\w@\w|(?<!\\)`", made), text
        assert re.findall("^#+ .*$", made, re.M)[1:] == [
            "## Answer", "## Nodes", "## Why the foremost are here", "## Passages",
            "## Certificate", "## Made by"]
        rows = [line for line in made.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}, text
