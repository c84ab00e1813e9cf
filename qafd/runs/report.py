"""A run as a page of Markdown: question, answer, nodes, passages, certificate and what made it."""

import re
from collections.abc import Iterator

from qafd.explain import mass_balance
from qafd.export import imprint
from qafd.flow.verify import verify
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import RetrievedNode
from qafd.retrieve.rank import word_parts
from qafd.runs import Run
from qafd.wording.explanations import say_balance
from qafd.wording.findings import say_verification
from qafd.wording.reasons import word_reason

FOREMOST = 5  # nodes whose reasons are given
LISTED = 40  # nodes in the table
PASSAGES = 10


def report(run: Run) -> str:
    """The report; text of documents is shown as text, whatever Markdown it holds."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    retrieval, full = run.retrieval, run.retrieved
    yield f"# {said(retrieval.query)}\n"
    if run.note:
        yield f"Note: {said(run.note)}\n"
    yield f"Asked {run.made_at[:19].replace('T', ' ')} UTC. {len(full):,} nodes with " \
          f"{run.tokens:,} tokens were retrieved.\n"
    yield "## Answer\n"
    yield "Sentences of the documents, quoted; no language model.\n"
    if run.absence:
        yield f"{said(run.absence)}\n"
    sources = list(dict.fromkeys((quote.title, quote.where) for quote in run.quotes))
    for quote in run.quotes:
        text, number = said(quote.text, 2000), sources.index((quote.title, quote.where)) + 1
        yield f"> {f'**{text}**' if quote.best else text} \\[{number}\\]\n"
    for number, (title, where) in enumerate(sources, 1):
        yield f"- \\[{number}\\] {said(title)}: {said(where)}"
    yield from _nodes(full)
    yield "\n## Why the foremost are here\n"
    for node in [n for n in full if n.kind != "passage"][:FOREMOST]:
        held = say_balance(mass_balance(retrieval, node.id)) if node.capacity > 0 else ""
        yield f"- {said(word_reason(node.reason), 600)} {said(held, 600)}".rstrip()
    yield "\n## Passages\n"
    for rank, passage in enumerate(retrieval.passages[:PASSAGES], 1):
        page = f", page {passage.page}" if passage.page is not None else ""
        sums = f" = {said(word_parts(passage.parts))}" if passage.parts else ""
        yield f"{rank}. **{said(passage.title)}** ({said(passage.document)}{page}, characters " \
              f"{passage.start}-{passage.end}, score {passage.score:.2f}{sums})\n\n   > " \
              f"{said(passage.text, 8000)}\n"
    yield "## Certificate\n"
    yield from _certificate(run)
    yield "\n## Made by\n"
    yield f"{said(imprint(retrieval), 2000)}."
    yield f"Question read by {said(run.plan.planner)}." + (
        f" Graph SHA-256 {run.graph}." * bool(run.graph))


def _nodes(full: tuple[RetrievedNode, ...]) -> Iterator[str]:
    yield "\n## Nodes\n"
    yield "| name | kind | importance x | mass | capacity | seed |"
    yield "|---|---|---:|---:|---:|---|"
    for node in full[:LISTED]:
        yield f"| {said(node.name, 120)} | {said(node.kind, 40)} | {node.importance:.4g} | " \
              f"{node.mass:.4g} | {node.capacity:.4g} | {'yes' if node.seed else ''} |"
    if len(full) > LISTED:
        yield f"\n{len(full) - LISTED:,} more nodes are less important."


def _certificate(run: Run) -> Iterator[str]:
    if run.retrieval.certificate is None:
        yield "The method gives none: what it retrieves is not the optimum of a stated problem."
        return
    checked = verify(run.retrieval.to_dict())
    yield from (f"- {said(sentence, 600)}" for sentence in say_verification(checked))


def said(text: str, length: int = 300) -> str:
    """Text on one line in which nothing is taken for Markdown, HTML or a link."""
    line = re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", one_line(text, length))
    # An address becomes a link after escapes are read; a word joiner, which nobody sees, keeps it.
    return re.sub(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)", "\u2060", line, flags=re.I)
