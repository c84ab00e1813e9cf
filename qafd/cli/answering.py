"""Answers: quoted sentences, or a model's words, with their sources."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import tee
from typing import Any

import click

from qafd.answer import Answer, Citation
from qafd.cli import CAPPED, FAILED
from qafd.cli.command import Outcome, command, note, settings, wants_json
from qafd.cli.inquiry import Inquiry, asks
from qafd.cli.models import change_cap, endpoint_named, spending_options
from qafd.cli.options import model_options
from qafd.errors import ModelError, SpendingCapError
from qafd.knowledge import KnowledgeGraph
from qafd.models.address import is_local
from qafd.models.cost import FREE, Meter, Metered, streamed
from qafd.models.prompts_answer import ANSWER_TOKENS
from qafd.reading.text.markdown import plain_pieces
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import Retrieval
from qafd.storage.rows import now
from qafd.wording.answers import say_absence, say_gap


@command()
@asks(method=True)
@model_options
@spending_options
@click.option("--length", type=click.Choice(["short", "paragraphs", "list"]), default="short",
              help="Of a model's answer.")
@click.option("--tokens", type=click.IntRange(min=1), default=3000,
              help="How much a model is shown.")
@click.option("--prompt", is_flag=True, help="Print what a model would be sent.")
def answer(inquiry: Inquiry, model: str | None, base_url: str | None, length: str, tokens: int,
           prompt: bool, **most: float | None) -> Outcome | int:
    knowledge = inquiry.knowledge
    retrieval = inquiry.retrieve()
    if prompt:
        messages = knowledge.draft(retrieval, budget=tokens, length=length).messages
        return Outcome(messages, ["\n\n".join(message.content for message in messages)])
    client = _meter(knowledge, retrieval.query, model, base_url, most) if model else None
    given = knowledge.answer(retrieval)
    failure = None
    if client is not None and not given.abstained:
        try:
            given = _write(knowledge, retrieval, client, given, tokens, length)
        except ModelError as error:
            failure = error
    absent = given.abstained or (given.written is not None and given.written.abstained)
    outcome = Outcome(_answer_data(given, failure), answer_lines(given), not absent)
    if failure is None:
        return outcome
    outcome.print()
    note(f"{one_line(str(failure), 600)} These sentences are quoted instead.")
    return CAPPED if isinstance(failure, SpendingCapError) else FAILED


def _meter(knowledge: KnowledgeGraph, question: str, model: str, base_url: str | None,
           most: dict[str, float | None]) -> Metered:
    """The named endpoint, capped, its calls noted in the workspace and never paid for twice."""
    endpoint, chosen = endpoint_named(model, base_url), settings()
    price = chosen.price(endpoint.name)
    if price is None and is_local(endpoint.base_url):
        price = FREE
    cap = change_cap(most, chosen.cap_where(price is not None))
    return Metered(endpoint, knowledge.path, Meter(cap), price, endpoint.base_url, "answer",
                   f"answer {now()}", question=question)


def _write(knowledge: KnowledgeGraph, retrieval: Retrieval, client: Metered, quoted: Answer,
           tokens: int, length: str) -> Answer:
    """The answer with a model's words, which are printed as they come unless JSON is wanted."""
    draft = knowledge.draft(retrieval, budget=tokens, length=length)
    with knowledge.store():  # else the call would open and close the file
        if wants_json():
            reply = client.complete(draft.messages, max_tokens=ANSWER_TOKENS)
        else:
            shown, kept = tee(client.stream(draft.messages, max_tokens=ANSWER_TOKENS))
            try:
                for text in plain_pieces(shown, {s.number for s in draft.context.sources}):
                    print(text, end="", flush=True)
            finally:
                print()
            stored = client.stored(client.key(draft.messages, None, ANSWER_TOKENS))
            reply = stored or streamed(draft.messages, "".join(kept))
        return replace(quoted, written=knowledge.written(draft, reply, client.name))


def answer_lines(answer: Answer) -> Iterator[str]:
    """The answer and its sources, for a terminal; of a model's words only the sources."""
    written = answer.written
    if written is not None:
        yield from _source_lines(written.citations)
        about = "~" if written.reply.estimated else ""
        yield (f"\nWritten by {one_line(written.model, 100)}: {about}{written.reply.tokens_in:,} "
               f"tokens sent, {about}{written.reply.tokens_out:,} received.")
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


def _answer_data(answer: Answer, failure: ModelError | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "abstained": answer.abstained, "confidence": answer.confidence, "best": answer.best,
        "needed": answer.needed, "missing": answer.missing,
        "sentences": answer.sentences,
        "citations": [_citation_data(citation) for citation in answer.citations],
        "written": None, "error": str(failure or "")}
    written = answer.written
    if written is not None:
        data["written"] = {
            "text": written.text, "model": written.model, "abstained": written.abstained,
            "citations": [_citation_data(citation) for citation in written.citations],
            "unknown": written.unknown, "tokens_in": written.reply.tokens_in,
            "tokens_out": written.reply.tokens_out, "estimated": written.reply.estimated}
    return data


def _citation_data(citation: Citation) -> dict[str, Any]:
    passage = citation.passage
    sentences = [{"text": passage.text[start:end].strip(), "start": passage.start + start,
                  "end": passage.start + end} for start, end in citation.marks]
    return {"number": citation.number, "title": citation.title, "document": passage.document,
            "page": passage.page, "where": citation.where, "support": citation.support,
            "sentences": sentences}
