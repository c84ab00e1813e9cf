"""Why a node is retrieved or not, the paths of the mass, and what would change the result."""

import argparse
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from qafd.cli.common import (
    DONE,
    NOTHING_FOUND,
    Commands,
    add_question,
    asked,
    open_graph,
    print_json,
)
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.explain import Explanation
    from qafd.storage.rows import Evidence


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    why = add_question(commands, "why", _why, "say why a node is retrieved, or why not")
    why.add_argument("node", help="its name, '¶ title' for a passage, or its id")
    why.add_argument("--elsewhere", action="store_true", help="ask all other methods as well")
    why.add_argument("--to", metavar="NAME", help="tell of the edge to this node instead, with "
                     "what passages carry from one to the other")
    paths = add_question(commands, "paths", _paths, "list the paths that the mass took")
    paths.add_argument("--to", help="only those that end at this node")
    paths.add_argument("--most", type=int, default=20, help="how many (default: 20)")
    whatif = add_question(commands, "whatif", _whatif, "solve again with something taken out")
    for what, value in (("document", "NAME"), ("node", "NAME"), ("seed", "NAME"),
                        ("edge", "NAME,NAME")):
        whatif.add_argument(f"--without-{what}", action="append", default=[], metavar=value)
    whatif.add_argument("--with-edge", metavar="NAME,NAME,SIMILARITY",
                        help="add an edge, or give one another similarity")
    whatif.add_argument("--scale-edge", metavar="NAME,NAME,FACTOR",
                        help="multiply the weight of an edge")


def _explanation(arguments: argparse.Namespace) -> "Explanation":
    knowledge = open_graph(arguments)
    plan, method = asked(arguments, knowledge)
    return knowledge.explain(plan, method=method)


def _why(arguments: argparse.Namespace) -> int:
    explanation = _explanation(arguments)
    try:
        for node in filter(None, (arguments.node, arguments.to)):
            explanation.find(node)
    except ParameterError as unknown:
        print(f"qafd: {unknown}", file=sys.stderr)
        return NOTHING_FOUND
    if arguments.to:
        return _along(explanation, arguments)
    said = explanation.elsewhere(arguments.node) if arguments.elsewhere else {}
    found: dict[str, Any]
    if explanation.retrieved(arguments.node):
        why = explanation.why(arguments.node)
        found = {"retrieved": True, **asdict(why)}
        lines = [why.summary, why.sentence,
                 *(f"subquery {part.number}: {part.why.sentence}" for part in why.parts
                   if part.why is not None)]
        for inflow in why.inflows:
            lines += [f"from {inflow.name} ({inflow.share:.0%}): {_quote(e)}"
                      for e in inflow.sentences]
            if inflow.added:
                lines.append(f"from {inflow.name} ({inflow.share:.0%}): {inflow.added}")
    else:
        not_in = explanation.why_not(arguments.node)
        found = {"retrieved": False, **asdict(not_in)}
        lines = [*not_in.sentences, *(f"- {remedy.sentence}" for remedy in not_in.remedies)]
    if arguments.json:
        print_json({**_plain(found), "elsewhere": said})
    else:
        print(*(one_line(line, 600) for line in lines), sep="\n")
        for method, reason in said.items():
            print(f"{method}: {one_line(reason, 300)}")
    return DONE


def _along(explanation: "Explanation", arguments: argparse.Namespace) -> int:
    along = explanation.along(arguments.node, arguments.to, contracted=True)
    if arguments.json:
        print_json(asdict(along))
        return DONE
    lines = [along.sentence]
    for strand in along.strands:
        way = strand.passage or along.label or "directly"
        lines += [f"{way} ({strand.flow:.3g}): {said}" for said in (
            *map(_quote, strand.sentences), *filter(None, [strand.added]))]
    lines += [f"{gate.source_name} – {gate.target_name}: weight {gate.weight:.3g}, of strength "
              f"{gate.structure:.3g} and likeness {gate.alignment_source:.3g} and "
              f"{gate.alignment_target:.3g}" for strand in along.strands for gate in strand.gates]
    print(*(one_line(line, 600) for line in lines), sep="\n")
    return DONE


def _quote(said: "Evidence") -> str:
    return (f"{one_line(said.text, 300)} "
            f"[{said.document}{'' if said.page is None else f', page {said.page}'}]")


def _paths(arguments: argparse.Namespace) -> int:
    if arguments.most < 1:
        raise ParameterError(f"--most is {arguments.most}; it is at least 1")
    found = _explanation(arguments).paths(arguments.most, to=arguments.to)
    if arguments.json:
        print_json(asdict(found))
    else:
        for path in found.paths:
            part = f"  (subquery {path.part})" if path.part else ""
            print(f"{path.mass:10.4f}  {one_line(path.words, 400)}{part}")
        print(f"{found.rest:10.4f}  all other paths\n{found.total:10.4f}  in all")
    return DONE if found.paths else NOTHING_FOUND


def _whatif(arguments: argparse.Namespace) -> int:
    from qafd.answer.change import AnswerChange
    from qafd.explain import Change

    explanation = _explanation(arguments)
    change = explanation.change(
        nodes=arguments.without_node, seeds=arguments.without_seed,
        documents=arguments.without_document,
        edges=[_pair(explanation, text) for text in arguments.without_edge])
    for name in ("with_edge", "scale_edge"):
        text = getattr(arguments, name)
        if text is not None:
            ends, _, number = text.rpartition(",")
            u, v = (explanation.find(end) for end in _pair(explanation, ends))
            value = (((u, v), _number(number)),)
            change = (replace(change, similarities=value) if name == "with_edge"
                      else replace(change, scales=value))
    if change == Change():
        raise ParameterError("nothing changes; say what to take out or add, for example "
                             "--without-node NAME (see qafd whatif --help)")
    found = explanation.what_if(change)
    knowledge = open_graph(arguments)
    answers = AnswerChange.of(knowledge.answer(found.before), knowledge.answer(found.after))
    if arguments.json:
        print_json({"answer": answers.sentence,
                    "left_answer": [asdict(sentence) for sentence, _ in answers.left],
                    "came_into_answer": [asdict(sentence) for sentence, _ in answers.came],
                    "lost": [asdict(n) for n in found.lost],
                    "gained": [asdict(n) for n in found.gained],
                    "lost_passages": [p.id for p in found.lost_passages],
                    "gained_passages": [p.id for p in found.gained_passages],
                    "certificate": found.after.certificate})
    else:
        print(one_line(answers.sentence, 600))
        for word, quoted in (("leaves the answer", answers.left),
                             ("comes into the answer", answers.came)):
            for sentence, citation in quoted:
                print(f"{word}: {one_line(sentence.line, 600)} [{one_line(citation.where, 300)}]")
        for word, nodes in (("lost", found.lost), ("gained", found.gained)):
            print(f"{word}: " + (", ".join("¶ " * (n.kind == "passage") + one_line(n.name, 80)
                                         for n in nodes) or "nothing"))
    return DONE


def _pair(explanation: "Explanation", text: str) -> tuple[str, str]:
    """Two names around a comma; names may have commas themselves."""
    parts = text.split(",")
    for cut in range(1, len(parts)):
        ends = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
        if len(parts) == 2 or all(map(explanation.known, ends)):
            return ends
    raise ParameterError(f"{text[:80]!r} does not name two nodes; write NAME,NAME")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{text[:40]!r} is not a number; it follows the two names") from error


def _plain(value: Any) -> Any:
    """The same without infinities, which JSON has not."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value == float("inf") else value
