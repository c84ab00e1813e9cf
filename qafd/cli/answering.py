"""Answers as lines and data: quoted sentences, or a model's words, with their sources."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from qafd.answer import Answer, Citation, Review, Sentence
from qafd.answer.conversation import keep_turn
from qafd.cli.command import Outcome, note, wants_json
from qafd.cli.inquiry import Inquiry
from qafd.cli.models import ModelRequest
from qafd.cli.streams import text_of
from qafd.errors import ModelError, ParameterError, StoreError
from qafd.explain.chains import Chain
from qafd.explain.conditions import AnswerConditions, ConditionRow
from qafd.knowledge import KnowledgeGraph, check_conditions, cite_reply, draft_answer
from qafd.models import Streamed, calls_of
from qafd.models.cost import Metered
from qafd.reading.text.markdown import plain_pieces
from qafd.reading.text.plaintext import one_line
from qafd.reasons import Notice
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval
from qafd.retrieve.conditions import restate_conditions
from qafd.retrieve.evidence import LEVELS
from qafd.retrieve.exact import ExactMatches
from qafd.wording.answers import say_doubts, say_heading, say_review, say_status
from qafd.wording.explanations import say_chain, say_condition, say_hop, say_met
from qafd.wording.reasons import word_notice

CHAINS = 3


def chain_lines(chains: Sequence[Chain]) -> Iterator[str]:
    """Word chains from a seed to the answer, each with the sentences of its hops."""
    for chain in chains:
        yield one_line(say_chain(chain), 400)
        for hop in chain.hops:
            yield f"    {one_line(say_hop(hop), 600)}"
    if chains:
        yield ""


def answer(inquiry: Inquiry, asked: ModelRequest, length: str, tokens: int, prompt: bool,
           follow: bool, check: bool) -> Outcome:
    """Answer a question, print the prompt for it, or complete it first from the last one."""
    knowledge, client, typed = inquiry.knowledge, None, ""
    plan = _choose_planner(asked, prompt, check)
    if asked.model and not (prompt and plan == "rules"):
        client = asked.client(knowledge, "answer", inquiry.text)
    if follow:
        typed, inquiry = inquiry.text, follow_last(inquiry, client)
    reader = replace(client, purpose="plan") if client and plan == "model" else None
    read, method = inquiry.read(reader, asked.steps)
    retrieval = knowledge.retrieve(read, method)
    if plan == "model":
        _note_all(retrieval.notices)
    if prompt:
        messages = draft_answer(knowledge, retrieval, read, budget=tokens, length=length).messages
        return Outcome(messages, ["\n\n".join(message.content for message in messages)])
    keep_question(inquiry, typed)
    given, failure = knowledge.answer(retrieval, read), None
    try:
        if client is not None:
            given = write_answer(knowledge, retrieval, client, given, tokens, length, read)
            given = check_statements(given, client) if check else given
    except ModelError as error:
        failure = error
    absent = given.abstained if given.written is None else given.written.abstained
    return Outcome(answer_data(given, failure), answer_lines(given), not absent, failure=failure,
                   instead="The statements are not checked." if given.written else
                   "These sentences are quoted instead.")


def _choose_planner(asked: ModelRequest, prompt: bool, check: bool) -> str:
    """Return who reads the question: as named, else the model that answers."""
    if not asked.model and (check or asked.plan == "model"):
        option = "--check" if check else "--plan model"
        raise ParameterError(f"{option} needs a model; name one with --model, or drop it")
    return asked.plan or ("model" if asked.model and not prompt else "rules")


def _note_all(notices: Iterable[Notice]) -> None:
    """Print what a model's plan changed, on stderr."""
    for notice in notices:
        note(one_line(word_notice(notice), 600))


def follow_last(inquiry: Inquiry, client: Metered | None) -> Inquiry:
    """Complete a follow-up from the last question, and print the result."""
    made = inquiry.knowledge.follow_up(
        inquiry.text, client=replace(client, purpose="plan") if client else None)
    if made.failure is not None:
        note(f"{one_line(str(made.failure), 600)} The follow-up was read by rules.")
    if made.made_by:
        note(f"asked as: {one_line(made.question, 600)}")
    return replace(inquiry, question=made.question)


def keep_question(inquiry: Inquiry, typed: str) -> None:
    """Store the question for follow-ups, if the workspace can be written."""
    try:
        with inquiry.knowledge.store() as store:
            keep_turn(store, inquiry.text, typed)
    except StoreError as error:
        note(f"the question is not stored for a follow-up: {one_line(str(error), 600)}")


def write_answer(knowledge: KnowledgeGraph, retrieval: Retrieval, client: Metered, quoted: Answer,
                 tokens: int, length: str, plan: QueryPlan | None = None) -> Answer:
    """Let a model write the answer, printed as it arrives unless JSON is wanted.

    `plan` is that of the retrieval, if it is not by rules.
    """
    calls = calls_of(client)
    draft = draft_answer(knowledge, retrieval, plan, budget=tokens, length=length)
    with knowledge.store():  # else the call would open and close the file
        if wants_json():
            reply = client.complete(draft.messages, max_tokens=calls.reply_tokens)
        else:
            streamed = Streamed(client.stream(draft.messages, max_tokens=calls.reply_tokens))
            try:
                for text in plain_pieces(streamed, {s.number for s in draft.context.sources}):
                    print(text, end="", flush=True)
            finally:
                print()
            reply = streamed.reply
        return replace(quoted, written=cite_reply(knowledge, draft, reply, client.name))


def check_statements(answer: Answer, client: Metered) -> Answer:
    """Let a model read each cited statement of its answer again; see `qafd.answer.Review`."""
    review = Review.of(answer.written) if answer.written else None
    if review is None:
        return answer
    return replace(answer, written=review.ask(replace(client, purpose="check")))


def answer_lines(answer: Answer) -> Iterator[str]:
    """Word the answer and its sources for a terminal; of a model's words only the sources."""
    written = answer.written
    if written is not None:
        yield from _source_lines(written.citations)
        about = "~" if written.reply.estimated else ""
        yield (f"\nWritten by {one_line(written.model, 100)}: {about}{written.reply.tokens_in:,} "
               f"tokens sent, {about}{written.reply.tokens_out:,} received.")
        for doubt in say_doubts(written):
            yield one_line(doubt, 600)
        yield from filter(None, [say_review(written)])
        return
    yield say_status(answer)
    if answer.sentences:
        yield f"{say_heading(answer)}:"
    for sentence in answer.sentences:
        mark = "> " if sentence.best else "  "
        skipped = "… " if sentence.skips else ""
        yield from _row_lines(sentence, mark) if sentence.cells else [
            f"{mark}{skipped}{one_line(sentence.line, 1000)} [{sentence.cited}]"]
    yield from _source_lines(answer.citations)


def _row_lines(sentence: Sentence, mark: str) -> Iterator[str]:
    """Yield the cells of a row in two columns, the asked one behind the mark."""
    width = max(len(column) for column, _ in sentence.cells)
    for place, (column, value) in enumerate(sentence.cells):
        before = (mark if mark.strip() else "* ") if place == sentence.asked else "  "
        number = "" if place else f" [{sentence.cited}]"
        yield f"{before}{one_line(column, 80):{width}}  {one_line(value, 500)}{number}"


def _source_lines(citations: tuple[Citation, ...]) -> Iterator[str]:
    if citations:
        yield ""
    for citation in citations:
        yield f"[{citation.number}] {one_line(citation.where, 300)}"


def answer_data(answer: Answer, failure: ModelError | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "abstained": answer.abstained, "chance": answer.chance, "likelihood": answer.likelihood,
        "unknown": answer.unknown, "beyond": answer.beyond,
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


LENGTH, TOKENS = "short", 1500  # of a written answer, and what a model is shown for it


def exact(knowledge: KnowledgeGraph, question: str, evidence: str, answers: int, conditions: Sequence[str],
          asked: ModelRequest) -> Outcome:
    text = text_of(question)
    client = asked.client(knowledge, "answer", text) if asked.model else None
    method = ExactMatches(evidence=evidence, answers=answers)
    graph = knowledge.graph
    plan = knowledge.plan(text, graph)
    if conditions:
        plan = restate_conditions(graph, plan, conditions)
    knowledge.build_layers(method.needs)
    retrieval = knowledge.retrieve(plan, method, graph=graph)
    found = check_conditions(knowledge, retrieval)
    notices = [word_notice(notice) for notice in retrieval.notices]
    data: dict[str, Any] = {"question": retrieval.query, "notices": notices, "answers": found}
    lines = list(_lines(found))
    if client is None or not found:
        return Outcome(data, lines, bool(found), notes=notices)
    try:
        given = write_answer(knowledge, retrieval, client, knowledge.answer(retrieval), TOKENS, LENGTH)
    except ModelError as error:
        return Outcome(data, lines, notes=notices, failure=error)
    data["written"] = answer_data(given, None)["written"]
    return Outcome(data, [*answer_lines(given), "", *lines], notes=notices)


def _lines(found: Sequence[AnswerConditions]) -> Iterator[str]:
    for number, answer in enumerate(found, 1):
        yield f"{number}. {one_line(answer.name, 200)}  {say_met(answer)}"
        for row in answer.rows:
            yield f"   {_mark(row)} {one_line(say_condition(row), 600)}"


def _mark(row: ConditionRow) -> str:
    if not row.met:
        return "-"
    return "~" if row.level in LEVELS[1:] else "+"
