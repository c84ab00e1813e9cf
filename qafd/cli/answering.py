"""Answers: quoted sentences, or a model's words, with their sources."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from qafd.answer import Answer, Citation
from qafd.answer.conversation import keep_turn
from qafd.cli import CAPPED, FAILED
from qafd.cli.command import Outcome, command, note, spending, wants_json
from qafd.cli.inquiry import Inquiry, asks
from qafd.cli.models import (
    call_options,
    change_cap,
    endpoint_named,
    remember_price,
    settings_of_calls,
    spending_options,
)
from qafd.cli.options import model_options
from qafd.errors import ModelError, ParameterError, SpendingCapError, StoreError
from qafd.explain.conditions import has_answers
from qafd.knowledge import KnowledgeGraph
from qafd.models import Streamed
from qafd.models.address import is_local
from qafd.models.call_settings import CallSettings
from qafd.models.cost import FREE, Meter, Metered, Price
from qafd.models.instructions import Instructed
from qafd.reading.text import count_tokens
from qafd.reading.text.markdown import plain_pieces
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import Retrieval
from qafd.storage.rows import now
from qafd.wording import say_error
from qafd.wording.answers import say_absence, say_doubts, say_gap
from qafd.wording.reasons import word_notice

if TYPE_CHECKING:
    from qafd.models.endpoint import Endpoint


@command()
@asks(method=True)
@model_options
@spending_options
@call_options
@click.option("--length", type=click.Choice(["short", "paragraphs", "list"]), default="short",
              help="Of a model's answer.")
@click.option("--tokens", type=click.IntRange(min=1), default=3000,
              help="How much a model is shown.")
@click.option("--prompt", is_flag=True, help="Print what a model would be sent.")
@click.option("--plan", type=click.Choice(["rules", "model"]), default="rules",
              help="Who names the keywords and parts of the question.")
@click.option("--follow", is_flag=True,
              help="The question refers to the last one that was asked here.")
def answer(inquiry: Inquiry, model: str | None, base_url: str | None, length: str, tokens: int,
           prompt: bool, plan: str, follow: bool, **most: float | None) -> Outcome | int:
    knowledge = inquiry.knowledge
    client, reader, calls = None, None, CallSettings()
    if model and not (prompt and plan == "rules"):
        endpoint = endpoint_named(model, base_url)
        calls = settings_of_calls(most, endpoint)
        client = meter_calls(knowledge, inquiry.text, endpoint, calls, most)
    if plan == "model":
        if client is None:
            raise ParameterError("--plan model has no model to ask; name one with --model, or leave "
                                 "the question to the rules")
        reader = replace(client, purpose="plan")  # under the same cap
    typed = ""
    if follow:
        typed, inquiry = inquiry.text, follow_last(inquiry, client)
    retrieval = inquiry.retrieve(reader)
    if not prompt:
        keep_question(inquiry, typed)
    for notice in retrieval.notices if reader else ():
        note(one_line(word_notice(notice), 600))
    if prompt:
        messages = knowledge.draft(retrieval, budget=tokens, length=length).messages
        return Outcome(messages, ["\n\n".join(message.content for message in messages)])
    given = knowledge.answer(retrieval)
    failure = None
    if client is not None and (not given.abstained or has_answers(retrieval)):
        try:
            given = write_answer(knowledge, retrieval, client, given, calls, tokens, length)
        except ModelError as error:
            failure = error
    absent = given.abstained if given.written is None else given.written.abstained
    outcome = Outcome(answer_data(given, failure), answer_lines(given), not absent)
    if failure is None:
        return outcome
    outcome.print()
    note(f"{one_line(str(failure), 600)} These sentences are quoted instead.")
    return CAPPED if isinstance(failure, SpendingCapError) else FAILED


def follow_last(inquiry: Inquiry, client: Metered | None) -> Inquiry:
    """The inquiry with its follow-up as a question of its own, which is told."""
    made = inquiry.knowledge.follow_up(
        inquiry.text, client=replace(client, purpose="plan") if client else None)
    if made.failure is not None:
        note(f"{one_line(say_error(made.failure), 600)} The follow-up was read by rules.")
    if made.made_by:
        note(f"asked as: {one_line(made.question, 600)}")
    return replace(inquiry, question=made.question)


def keep_question(inquiry: Inquiry, typed: str) -> None:
    """Note the question in the workspace, where it can be written."""
    try:
        with inquiry.knowledge.store() as store:
            keep_turn(store, inquiry.text, typed)
    except StoreError as error:
        note(f"the question is not kept for a follow-up: {one_line(say_error(error), 600)}")


def meter_calls(knowledge: KnowledgeGraph, question: str, endpoint: "Endpoint",
                calls: CallSettings, most: dict[str, float | None]) -> Metered:
    """The named endpoint, called and instructed as the workspace says, and capped; its calls are
    noted in the workspace and never paid for twice."""
    given: Any = most.pop("price", None)
    if given is not None:
        remember_price(endpoint.name, Price(*given))
    price = price_at(endpoint)
    cap = change_cap(most, spending().cap_where(price is not None))
    told = Instructed(endpoint.with_settings(calls), replace(knowledge.instructions, calls=calls))
    return Metered(told, knowledge.url, Meter(cap), price, endpoint.base_url, "answer",
                   f"answer {now()}", question=question)


def price_at(endpoint: "Endpoint") -> Price | None:
    """What a model costs by the settings; nothing on this machine where they do not say."""
    price = spending().price(endpoint.name)
    return FREE if price is None and is_local(endpoint.base_url) else price


def write_answer(knowledge: KnowledgeGraph, retrieval: Retrieval, client: Metered, quoted: Answer,
                 calls: CallSettings, tokens: int, length: str) -> Answer:
    """The answer with a model's words, which are printed as they come unless JSON is wanted."""
    budget = calls.fit(tokens, count_tokens(retrieval.query))
    draft = knowledge.draft(retrieval, budget=budget, length=length)
    with knowledge.store():  # else the call would open and close the file
        if wants_json():
            reply = client.complete(draft.messages, max_tokens=calls.answer_tokens)
        else:
            streamed = Streamed(client.stream(draft.messages, max_tokens=calls.answer_tokens))
            try:
                for text in plain_pieces(streamed, {s.number for s in draft.context.sources}):
                    print(text, end="", flush=True)
            finally:
                print()
            reply = streamed.reply
        return replace(quoted, written=knowledge.written(draft, reply, client.name))


def answer_lines(answer: Answer) -> Iterator[str]:
    """The answer and its sources, for a terminal; of a model's words only the sources."""
    written = answer.written
    if written is not None:
        yield from _source_lines(written.citations)
        about = "~" if written.reply.estimated else ""
        yield (f"\nWritten by {one_line(written.model, 100)}: {about}{written.reply.tokens_in:,} "
               f"tokens sent, {about}{written.reply.tokens_out:,} received.")
        for doubt in say_doubts(written):
            yield one_line(doubt, 600)
        return
    if answer.abstained:
        yield say_absence(answer)
    if gap := say_gap(answer):
        yield gap
    if answer.abstained and answer.sentences:
        yield "The nearest sentences:"
    for sentence in answer.sentences:
        mark = "> " if sentence.best else "  "
        skipped = "… " if sentence.skips else ""
        yield f"{mark}{skipped}{one_line(sentence.line, 1000)} [{sentence.cited}]"
    yield from _source_lines(answer.citations)


def _source_lines(citations: tuple[Citation, ...]) -> Iterator[str]:
    if citations:
        yield ""
    for citation in citations:
        yield f"[{citation.number}] {one_line(citation.where, 300)}"


def answer_data(answer: Answer, failure: ModelError | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "abstained": answer.abstained, "confidence": answer.confidence,
        "evidence": answer.evidence, "needed": answer.needed, "missing": answer.missing,
        "sentences": answer.sentences,
        "citations": [_citation_data(citation) for citation in answer.citations],
        "written": None, "error": str(failure or "")}
    written = answer.written
    if written is not None:
        data["written"] = {
            "text": written.text, "model": written.model, "abstained": written.abstained,
            "citations": [_citation_data(citation) for citation in written.citations],
            "unknown": written.unknown, "claims": written.claims, "cut": written.reply.cut,
            "tokens_in": written.reply.tokens_in,
            "tokens_out": written.reply.tokens_out, "estimated": written.reply.estimated}
    return data


def _citation_data(citation: Citation) -> dict[str, Any]:
    passage = citation.passage
    sentences = [{"text": passage.text[start:end].strip(), "start": passage.start + start,
                  "end": passage.start + end} for start, end in citation.marks]
    return {"number": citation.number, "title": citation.title, "document": passage.document,
            "page": passage.page, "where": citation.where, "support": citation.support,
            "sentences": sentences}
