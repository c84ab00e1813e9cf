"""Answers on the command line: quoted sentences, or a model's words, with their sources."""

import argparse
import os
import sys
from dataclasses import asdict, replace
from itertools import tee
from typing import TYPE_CHECKING, Any

from qafd.cli.ask import retrieve
from qafd.cli.common import (
    CAPPED,
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    add_knobs,
    command,
    open_graph,
    print_json,
    settings,
)
from qafd.cli.model import cap_of
from qafd.errors import ModelError, ParameterError, SpendingCapError
from qafd.models.address import OPENAI
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from qafd.answer import Answer, Citation
    from qafd.knowledge import KnowledgeGraph
    from qafd.models.cost import Metered
    from qafd.models.endpoint import Endpoint
    from qafd.records import Check
    from qafd.retrieve.base import Retrieval


def add(commands: Commands) -> None:
    """Add the command of this file."""
    answer = command(commands, "answer", _answer,
                     "answer a question with quoted sentences, or in a model's words")
    answer.add_argument("question", help="the question; '-' reads it from stdin")
    add_endpoint(answer)
    answer.add_argument("--max-tokens", type=int, metavar="N",
                        help="do not ask when it could take more (default: from the settings)")
    answer.add_argument("--max-cost", type=float, metavar="DOLLARS",
                        help="do not ask when it could cost more (default: from the settings)")
    answer.add_argument("--length", choices=("short", "paragraphs", "list"), default="short",
                        help="of a model's answer")
    answer.add_argument("--tokens", type=int, default=3000, help="how much a model is shown")
    answer.add_argument("--prompt", action="store_true", help="print what a model would be sent")
    answer.add_argument("--method", default="qafd")
    answer.add_argument("--preset", choices=("best", "paper"), default="best")
    add_knobs(answer)


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Options that name a model and its address; the key comes from OPENAI_API_KEY alone."""
    parser.add_argument("--model", default=os.environ.get("QAFD_MODEL"),
                        help="a language model (default: $QAFD_MODEL)")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL"),
                        help="its OpenAI-compatible address (default: $OPENAI_BASE_URL, else "
                        "OpenAI's)")


def endpoint_of(arguments: argparse.Namespace) -> "Endpoint":
    """The endpoint that the options name."""
    from qafd.models.endpoint import Endpoint

    if not arguments.model:
        raise ParameterError("no language model is named; add --model NAME or set QAFD_MODEL")
    return Endpoint(arguments.model, arguments.base_url or OPENAI, key_of(arguments))


def key_of(arguments: argparse.Namespace) -> str | None:
    """$OPENAI_API_KEY, unless --base-url sends somewhere else than the environment."""
    meant = os.environ.get("OPENAI_BASE_URL") or OPENAI
    same = (arguments.base_url or OPENAI) == meant
    return os.environ.get("OPENAI_API_KEY") if same else None


def endpoint_checks(arguments: argparse.Namespace) -> "list[Check]":
    """What the named endpoint can do, for the doctor."""
    from qafd.models.endpoint_embedder import EndpointEmbedder
    from qafd.models.probe import probe

    url = arguments.base_url or OPENAI
    embedder = (EndpointEmbedder(arguments.embed_model, url, key_of(arguments))
                if arguments.embed_model else None)
    return list(probe(endpoint_of(arguments), embedder).checks)


def _metered(arguments: argparse.Namespace, path: "Path", question: str) -> "Metered":
    """The named endpoint, capped, its calls noted in the workspace and never paid for twice."""
    from qafd.models.address import is_local
    from qafd.models.cost import FREE, Meter, Metered
    from qafd.storage.rows import now

    endpoint, chosen = endpoint_of(arguments), settings()
    price = chosen.price(endpoint.name) or (FREE if is_local(endpoint.base_url) else None)
    cap = cap_of(arguments, chosen.cap_where(price is not None))
    return Metered(endpoint, path, Meter(cap), price, endpoint.base_url, "answer",
                   f"answer {now()}", question=question)


def _answer(arguments: argparse.Namespace) -> int:
    if arguments.tokens < 1:
        raise ParameterError(f"--tokens is {arguments.tokens}; it is at least 1")
    knowledge = open_graph(arguments)
    retrieval = retrieve(arguments)
    if arguments.prompt:
        draft = knowledge.draft(retrieval, budget=arguments.tokens, length=arguments.length)
        if arguments.json:
            print_json([asdict(message) for message in draft.messages])
        else:
            print(*(message.content for message in draft.messages), sep="\n\n")
        return DONE
    failure, code = "", FAILED
    client = _metered(arguments, knowledge.path, retrieval.query) if arguments.model else None
    answer = knowledge.answer(retrieval)
    if client is not None and not answer.abstained:
        try:
            answer = _written(arguments, knowledge, retrieval, client, answer)
        except ModelError as error:
            failure = str(error)
            code = CAPPED if isinstance(error, SpendingCapError) else FAILED
    if arguments.json:
        print_json(_as_json(answer, failure))
    else:
        print_answer(answer)
    if failure:
        print(f"qafd: {one_line(failure, 600)} These sentences are quoted instead.",
              file=sys.stderr)
        return code
    absent = answer.abstained or (answer.written is not None and answer.written.abstained)
    return NOTHING_FOUND if absent else DONE


def _written(arguments: argparse.Namespace, knowledge: "KnowledgeGraph", retrieval: "Retrieval",
             client: "Metered", quoted: "Answer") -> "Answer":
    """The answer with a model's words, which are printed as they come unless JSON is wanted."""
    from qafd.models.cost import streamed
    from qafd.models.prompts_answer import ANSWER_TOKENS
    from qafd.reading.text.markdown import plain_pieces

    draft = knowledge.draft(retrieval, budget=arguments.tokens, length=arguments.length)
    with knowledge.store():  # else the call would open and close the file
        if arguments.json:
            reply = client.complete(draft.messages, max_tokens=ANSWER_TOKENS)
        else:
            first, second = tee(client.stream(draft.messages, max_tokens=ANSWER_TOKENS))
            try:
                for text in plain_pieces(first, {s.number for s in draft.context.sources}):
                    print(text, end="", flush=True)
            finally:
                print()
            reply = client.stored(client.key(draft.messages, None, ANSWER_TOKENS)) or streamed(
                draft.messages, "".join(second))
        return replace(quoted, written=knowledge.written(draft, reply, client.name))


def print_answer(answer: "Answer") -> None:
    """The answer and its sources, for a terminal; of a model's words only the sources."""
    if answer.written is not None:
        written = answer.written
        _print_sources(written.citations)
        reply = written.reply
        about = "~" if reply.estimated else ""
        print(f"\nWritten by {one_line(written.model, 100)}: {about}{reply.tokens_in:,} tokens "
              f"sent, {about}{reply.tokens_out:,} received.")
        return
    if answer.abstained:
        print(answer.absence)
    if answer.gap:
        print(answer.gap)
    if answer.abstained and answer.sentences:
        print("The nearest sentences:")
    for sentence in answer.sentences:
        print(f"{'> ' if sentence.best else '  '}{'… ' * sentence.skips}"
              f"{one_line(sentence.line, 1000)} "
              f"[{sentence.cited}]")
    _print_sources(answer.citations)


def _print_sources(citations: "tuple[Citation, ...]") -> None:
    if citations:
        print()
    for citation in citations:
        print(f"[{citation.number}] {one_line(citation.where, 300)}")


def _as_json(answer: "Answer", failure: str) -> dict[str, Any]:
    written = answer.written
    return {
        "abstained": answer.abstained, "best": answer.best, "threshold": answer.threshold,
        "missing": answer.missing,
        "sentences": [asdict(sentence) for sentence in answer.sentences],
        "citations": [_cited(citation) for citation in answer.citations],
        "written": None if written is None else {
            "text": written.text, "model": written.model, "abstained": written.abstained,
            "citations": [_cited(citation) for citation in written.citations],
            "unknown": written.unknown, "tokens_in": written.reply.tokens_in,
            "tokens_out": written.reply.tokens_out, "estimated": written.reply.estimated},
        "error": failure}


def _cited(citation: "Citation") -> dict[str, Any]:
    passage = citation.passage
    return {"number": citation.number, "title": citation.title, "document": passage.document,
            "page": passage.page, "where": citation.where, "support": citation.support,
            "sentences": [{"text": passage.text[start:end].strip(),
                           "start": passage.start + start, "end": passage.start + end}
                          for start, end in citation.marks]}
