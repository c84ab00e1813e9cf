"""Why a node is retrieved or not, the paths of the mass, and what would change the result."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from qafd.answer import AnswerChange, Citation, Sentence
from qafd.cli import NOTHING_FOUND
from qafd.cli.answering import CHAINS, chain_lines
from qafd.cli.command import Outcome, note
from qafd.cli.inquiry import Inquiry
from qafd.errors import ParameterError
from qafd.explain import Explanation
from qafd.explain.whatif import Change
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import RetrievedNode
from qafd.runs.imported import compare_node, read_columns
from qafd.storage.rows import Evidence
from qafd.view.drawing import share_of
from qafd.wording.answers import say_change
from qafd.wording.comparison import say_compared
from qafd.wording.documents import say_by_hand
from qafd.wording.explanations import (
    say_along,
    say_balance,
    say_gate,
    say_path,
    say_remedy,
    say_why,
    say_why_not,
)


def why(inquiry: Inquiry, node: str, against: str | None, to: str | None) -> Outcome | int:
    explanation = inquiry.explain()
    try:
        for name in filter(None, (node, to)):
            explanation.find(name)
    except ParameterError as unknown:
        note(str(unknown))
        return NOTHING_FOUND
    if to:
        return _explain_edge(explanation, node, to)
    if explanation.is_retrieved(node):
        found, lines = _explain_presence(explanation, node)
    else:
        absence = explanation.why_not(node)
        sentences = say_why_not(absence)
        found = {"retrieved": False, **asdict(absence), "sentences": sentences}
        lines = [*sentences, *(f"- {say_remedy(remedy, absence)}" for remedy in absence.remedies)]
    if against:
        for method in read_columns(inquiry.knowledge, against).values():
            theirs = inquiry.knowledge.retrieve(explanation.plan, method)
            lines.append(say_compared(compare_node(explanation, node, theirs)))
    return Outcome(found, [one_line(line, 600) for line in lines])


def _explain_presence(explanation: Explanation, node: str) -> tuple[dict[str, Any], list[str]]:
    presence = explanation.why(node)
    summary, held = say_why(presence), say_balance(presence.balance)
    lines = [summary, held]
    for inflow in presence.inflows:
        share = share_of(inflow.flow, presence.balance.reached)
        origin = f"from {inflow.source} ({share:.0%})"
        lines += [f"{origin}: {_quote(sentence)}" for sentence in inflow.sentences]
        if inflow.added:
            lines.append(f"{origin}: {say_by_hand(inflow.added)}")
    return {"retrieved": True, **asdict(presence), "summary": summary, "sentence": held}, lines


def _explain_edge(explanation: Explanation, node: str, to: str) -> Outcome:
    along = explanation.along(node, to, contracted=True)
    lines = [say_along(along)]
    for strand in along.strands:
        way = strand.passage or along.label or "directly"
        grounds = [_quote(sentence) for sentence in strand.sentences]
        if strand.added:
            grounds.append(say_by_hand(strand.added))
        lines += [f"{way} ({strand.flow:.3g}): {ground}" for ground in grounds]
    for strand in along.strands:
        lines += map(say_gate, strand.gates)
    return Outcome({**asdict(along), "sentence": lines[0]}, [one_line(line, 600) for line in lines])


def _quote(evidence: Evidence) -> str:
    page = "" if evidence.page is None else f", page {evidence.page}"
    return f"{one_line(evidence.text, 300)} [{evidence.document}{page}]"


def paths(inquiry: Inquiry, to: str | None, most: int) -> Outcome:
    explanation = inquiry.explain()
    found = explanation.paths(most, to=to)
    chains = () if to else explanation.chains(CHAINS)
    data, lines = [], list(chain_lines(chains))
    for path in found.paths:
        words = say_path(path)
        data.append({**asdict(path), "words": words})
        line = f"{path.mass:10.4f}  {one_line(words, 400)}"
        lines.append(f"{line}  (diffusion {path.part})" if path.part else line)
    lines += [f"{found.rest:10.4f}  all other paths", f"{found.total:10.4f}  in all"]
    return Outcome({**asdict(found), "paths": data, "chains": [asdict(chain) for chain in chains]}, lines,
                   found=bool(found.paths))


def whatif(inquiry: Inquiry, **without: Any) -> Outcome:
    explanation = inquiry.explain()
    change = explanation.change(**without)
    if change == Change():
        raise ParameterError("nothing changes; name what to take out, for example "
                             "--without-node NAME (see qafd whatif --help)")
    found = explanation.what_if(change)
    knowledge = inquiry.knowledge
    answers = AnswerChange.of(knowledge.answer(found.before), knowledge.answer(found.after))
    said = say_change(answers)
    data = {"answer": said,
            "left_answer": [sentence for sentence, _ in answers.left],
            "came_into_answer": [sentence for sentence, _ in answers.came],
            "lost": found.lost, "gained": found.gained,
            "lost_passages": [passage.id for passage in found.lost_passages],
            "gained_passages": [passage.id for passage in found.gained_passages],
            "certificate": found.after.certificate}
    lines = [one_line(said, 600),
             *_sentence_lines("no longer in the answer", answers.left),
             *_sentence_lines("new in the answer", answers.came),
             f"lost: {_list_names(found.lost)}", f"gained: {_list_names(found.gained)}"]
    return Outcome(data, lines)


def _sentence_lines(change: str, quoted: Sequence[tuple[Sentence, Citation]]) -> Iterator[str]:
    for sentence, citation in quoted:
        yield f"{change}: {one_line(sentence.line, 600)} [{one_line(citation.where, 300)}]"


def _list_names(nodes: Sequence[RetrievedNode]) -> str:
    names = []
    for node in nodes:
        name = one_line(node.name, 80)
        names.append(f"¶ {name}" if node.kind == "passage" else name)
    return ", ".join(names) or "nothing"
