"""Sentences of explanations: reasons for and against a node, its paths, conditions, and what reaches it."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.wording import count, join_words, ordinal
from qafd.wording.reasons import word_seed

if TYPE_CHECKING:
    from qafd.explain import Why
    from qafd.explain.chains import Chain, ChainHop
    from qafd.explain.conditions import AnswerConditions, ConditionRow
    from qafd.explain.edges import Along, Balance, Gate
    from qafd.explain.margins import Margins
    from qafd.explain.paths import ReasoningPath, Step
    from qafd.explain.reach import Added, Moved, Signal
    from qafd.explain.whynot import Remedy, WhyNot


NEIGHBORS = 3  # neighbors of a balance on each side
_HELD = {
    "saturated": "{name} is full: it holds {held:.3g} of {capacity:.3g}",
    "wet": "{name} is touched, not full: it holds {held:.3g} of {capacity:.3g}",
    "dry": "{name} took no mass",
}
_HOPS = {
    "relation": "“{sentence}” ({document})",
    "sentence": "“{sentence}” ({document})",
    "passage": "“{sentence}” ({document}, where both are named)",
}
LEAST = 5e-4  # of mass that is mentioned
_JOINED = {
    "together": " — named together in {passage} → ",
    "names": " — names → ",
    "named_in": " — is named in → ",
    "synonym": " — has nearly the same name as → ",
    "related": " — is related to → ",
}
_REMEDIES = {
    "mass": "Raise the mass from {mass:.4g} to {size}.",
    "seed": "Make {name} a seed with {size} of mass.",
}
_NO_SENTENCE = {
    "mention": "The name is in the title of this passage.",
    "synonym": "The two names are similar.",
}


def say_why(why: "Why") -> str:
    """Word the reason that a node holds its mass, for people who do not know the method."""
    words = _say_reason(why)
    if why.part:
        return f"By diffusion {why.part}, “{why.question}”, which left most mass here: {words}"
    return words


def _say_reason(why: "Why") -> str:
    if not why.seeds or not why.ways.paths:
        return f"No mass reached {why.name}."
    first = why.seeds[0]
    reason = word_seed(first.reason)
    if why.balance.node.seed and first.id == why.id:
        words = f"{why.name} is a starting point: {reason}."
    else:
        verb = "is here" if why.full else "was reached"
        words = (f"{why.name} {verb} because mass poured on {first.name} ({reason}) flowed to it: "
                 f"{say_path(why.ways.paths[0])}. {first.share:.0%} of its mass is from {first.name}.")
    return words if why.full else f"{words} It is not full, so it is not retrieved."


def say_balance(balance: "Balance") -> str:
    """Word a balance, e.g. "iPod is full: it holds 1 of 1: 0.46 from Steve Jobs".

    At most three neighbors are named on each side; the rest is summed. Numbers have three digits;
    `Balance` has all of them.
    """
    node = balance.node
    name = node.name
    if node.brought_by:
        # Each diffusion has its own capacities; the sum of several need not be full.
        numbers = join_words([str(part + 1) for part in node.brought_by])
        name = f"{name} (filled by diffusion {numbers})"
    words = _HELD.get(node.state, _HELD["dry"]).format(name=name, held=node.mass, capacity=node.capacity)
    parts = []
    if balance.injected > 0:
        parts.append(f"{balance.injected:.3g} injected by the question")
    parts += _say_flows(balance, balance.inflows, "{mass:.3g} from {name}")
    gone = _say_flows(balance, balance.outflows, "{mass:.3g} to {name}")
    if gone:
        parts.append(f"of which {', '.join(gone)} went on")
    if parts:
        words = f"{words}: {', '.join(parts)}"
    return words.rstrip(".") + "."


def _say_flows(balance: "Balance", flows: Sequence[tuple[str, float]],
               template: str) -> list[str]:
    words = [template.format(mass=mass, name=balance.names[node]) for node, mass in flows[:NEIGHBORS]]
    rest = flows[NEIGHBORS:]
    if rest:
        others = count(len(rest), "other")
        words.append(template.format(mass=sum(mass for _, mass in rest), name=others))
    return words


def say_path(path: "ReasoningPath") -> str:
    """Word a path, such as "Steve Jobs — showed in ¶ Steve Jobs → iPad"."""
    if not path.steps:
        return f"{path.start}, held where it was poured"
    words = [path.start]
    for step in path.steps:
        words += [_say_step(step), step.target]
    return "".join(words)


def say_chain(chain: "Chain") -> str:
    """Word a chain, such as "Jeff Bezos → Andy Jassy → Amazon Web Services"."""
    return " → ".join([chain.start, *(hop.name for hop in chain.hops)])


def say_hop(hop: "ChainHop") -> str:
    """Return the sentence of a hop, its document and its flow."""
    quote = _HOPS[hop.level].format(sentence=hop.sentence, document=hop.document)
    if hop.flow < LEAST:
        return quote
    return f"{quote}, {hop.flow:.2g} of mass flows here"


def _say_step(step: "Step") -> str:
    if step.link != "stated":
        return _JOINED[step.link].format(passage=step.passage)
    label = f"{step.label} (added by hand)" if step.by_hand else step.label
    if step.passage:
        if step.label.endswith(" in"):  # "born in in ¶ Lisbon" would look like a mistake
            label = f"“{label}”"
        label = f"{label} in {step.passage}"
    return f" — {label} → " if step.forward else f" ← {label} — "


def say_along(along: "Along") -> str:
    """Describe the flow along an edge and the passages that carry it."""
    if along.flow <= 0:
        return (f"No mass flows between {along.source} and {along.target}: neither is over capacity, "
                "so neither passes any on.")
    through = ""
    if along.passages:
        through = f" through {count(along.passages, 'passage')} with both names"
        if along.direct:
            through = f" directly and{through}"
    return (f"{along.flow:.3g} units of mass flow from {along.source} to {along.target}{through}, "
            f"{along.share:.0%} of all that arrived there.")


def say_unquoted(kind: str) -> str:
    """Word the reason that an edge of a kind has no quoted sentence."""
    return _NO_SENTENCE.get(kind, "No stored sentence names both.")


def say_gate(gate: "Gate") -> str:
    """Word an edge with the factors of its weight."""
    return (f"{gate.source_name} – {gate.target_name}: weight {gate.weight:.3g}, from strength "
            f"{gate.structure:.3g} and alignment {gate.alignment_source:.3g} and "
            f"{gate.alignment_target:.3g}")


def say_margins(margins: "Margins") -> list[str]:
    """Word how well weights set the retrieved nodes apart, and what Theorem 7 asks for."""
    if not margins.size:
        return []
    if margins.across is None:
        first = "No edge leaves the retrieved nodes, so nothing can leak."
    elif margins.inside is None:
        first = "No edge joins two retrieved nodes, so Lemma 6 says nothing about them."
    else:
        order = (f"They are set apart as Lemma 6 asks, up to noise of {margins.noise:.0%} in the weights."
                 if margins.noise > 0 else
                 "Lemma 6 asks for the opposite order: they are set apart up to noise of 0%, so the paper "
                 "does not promise that another diffusion finds the same nodes.")
        proof = "holds" if margins.across <= margins.asked else "does not hold"
        first = (f"The weakest edge between retrieved nodes has weight {margins.inside:.3g}, the strongest "
                 f"that leaves them {margins.across:.3g}. {order} The proof of Theorem 7 asks for at most "
                 f"{margins.asked:.2g} on edges that leave, which {proof} here.")
    lacks = []
    if not margins.connected:
        lacks.append("edges between the retrieved nodes do not connect all of them")
    if not margins.source_inside:
        lacks.append("some mass enters at nodes that are not retrieved")
    words = [first, f"Mass outside them is {margins.leakage:.1%} of their capacity, the beta of Theorem 7."]
    if lacks:
        words.append(f"The theorem does not apply: {join_words(lacks)}.")
    return words


def say_why_not(why: "WhyNot") -> list[str]:
    """Word the reasons that a node is not retrieved, the most important sentence first."""
    words = []
    if why.part:
        words.append(f"No diffusion retrieves {why.name}; number {why.part}, “{why.question}”, "
                      "comes nearest.")
    if why.held > 0:
        words.append(f"{why.name} holds {why.held:.3g} of {why.capacity:.3g}, so "
                      f"{why.shortfall:.3g} is missing.")
    else:
        words.append(f"No mass reached {why.name}.")
    words += _say_distance(why)
    if why.gate is not None and why.widest is not None:
        words.append(_say_narrower(why.gate, why.widest))
    return words + _say_entry(why)


def _say_distance(why: "WhyNot") -> list[str]:
    if not why.connected:
        return ["No path leads there from any seed."]
    if not why.way:
        return ["It is more than six steps from everything retrieved."]
    if len(why.way) == 2:
        return []
    return [(f"It is {why.steps} steps from the nearest retrieved node, {why.way[0]}; "
             f"{why.way[1]} on this path is not full, so it passes nothing on.")]


def _say_narrower(gate: "Gate", beside: "Gate") -> str:
    """Name the factor that makes one gate narrower than another from the same node."""
    edge = f"The edge from {gate.source_name} to {gate.target_name} is"
    if beside.weight <= gate.weight:
        return (f"{edge} no narrower (weight {gate.weight:.3g}) than the one to {beside.target_name} "
                f"({beside.weight:.3g}), but its mass is shared with others.")
    words = f"{edge} {beside.weight / gate.weight:.3g} times narrower than the one to {beside.target_name}"
    likeness = beside.alignment_target / gate.alignment_target
    if likeness >= beside.structure / gate.structure:
        return (f"{words}, mostly because {gate.target_name} is less similar to the question "
                f"({gate.alignment_target:.2g} against {beside.alignment_target:.2g}).")
    return (f"{words}, mostly because its connection to {gate.source_name} is weaker "
            f"({gate.structure:.2g} against {beside.structure:.2g}).")


def _say_entry(why: "WhyNot") -> list[str]:
    entry = why.entry
    if entry.mass is not None:
        return [f"It would be full at mass {round_up(entry.mass)}; now it is {why.mass:.4g}."]
    if entry.full:
        return [("More mass would not fill it: it is among the last to fill, when everything "
                 "connected to the seeds is nearly full.")]
    if math.isfinite(entry.searched):
        return [f"It is not full at mass {entry.searched:,.5g}, the most that was tried."]
    return []


def say_remedy(remedy: "Remedy", why: "WhyNot") -> str:
    """Describe a change that retrieves a node."""
    size = remedy.size
    if remedy.kind == "mass" and why.entry.mass is not None:
        size = why.entry.mass
    return _REMEDIES[remedy.kind].format(size=round_up(size), mass=why.mass, name=why.name)


def say_size(remedy: "Remedy") -> str:
    """Describe the size of a remedy: a factor, or an amount of mass."""
    if remedy.kind == "seed":
        return f"{round_up(remedy.size)} of mass"
    return f"{round_up(remedy.size)} times"


def round_up(amount: float) -> str:
    """Return four digits of a positive amount, rounded up because less would not be enough."""
    step = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return f"{math.ceil(round(amount / step, 6)) * step:.4g}"


_MET_BY = {"relation": "a relation", "sentence": "perhaps: a sentence",
           "passage": "perhaps: a passage"}
_SHOWN = {"relation": "{name}: {met}, “{sentence}” ({document})",
          "sentence": "{name}: perhaps, both are named in “{sentence}” ({document})",
          "passage": "{name}: perhaps, both are named in one passage ({document})"}


def say_met(answer: "AnswerConditions") -> str:
    """Count the conditions that an answer meets by a relation, and those it may meet."""
    if answer.perhaps and not answer.met:
        return f"{answer.perhaps}/{answer.wanted} perhaps"
    counted = f"{answer.met}/{answer.wanted}"
    return f"{counted}, {answer.perhaps} more perhaps" if answer.perhaps else counted


def say_condition(row: "ConditionRow") -> str:
    """Word the evidence that a condition is met, with its sentence and document."""
    if row.negated:
        return f"{row.name}: not related, as asked"
    if not row.level:
        return f"{row.name}: not met"
    if not row.document:
        return f"{row.name}: {say_met_by(row)}"
    met = say_met_by(row) if row.level == "relation" else ""
    return _SHOWN[row.level].format(name=row.name, met=met, sentence=row.sentence, document=row.document)


def say_met_by(row: "ConditionRow") -> str:
    """Name the evidence for a condition; a relation has its label in the graph."""
    if row.negated:
        return "not related, as asked"
    if row.level == "relation" and row.label:
        return row.label
    if row.level == "relation" and row.sentence:
        return "named together"
    return _MET_BY.get(row.level, "not met")


OUTSIDE = "found by search, not reached by the flow"
NAMED = 3  # passages that a sentence names


def say_signals(shares: "Sequence[tuple[Signal, float]]", reached: bool) -> str:
    """Word the signals that found a passage: "flow 62%, meaning 30%, words 8%"."""
    if not reached:
        return OUTSIDE
    return ", ".join(f"{signal} {share:.0%}" for signal, share in shares if share >= 0.005) or "flow"


def say_entered(sources: int, masses: Sequence[float], now: float) -> str:
    """Word the mass from which the flow reaches all sources of an answer.

    `masses` has one number for each source that it reaches within the range of the control.
    """
    if not masses:
        return "The flow reaches none of the sources at any mass in this range."
    last = max(masses)
    if len(masses) < sources:
        return (f"The flow reaches {len(masses)} of {sources} sources from mass {last:.3g} on; "
                "search found the rest.")
    which = "The source is" if sources == 1 else f"All {sources} sources are"
    if last > now:
        return f"{which} reached from mass {last:.3g} on."
    return f"{which} reached from mass {last:.3g} on, so more mass does not change the answer."


def say_added(added: "Added", titles: Mapping[str, str], searched: int) -> str:
    """Word the passages that the graph adds to the first five of search."""
    if not added.gained:
        return "The graph adds no passage to the first five of search."
    words = f"The graph added {_list(added.gained, titles, searched, 'without it')}"
    if added.lost:
        words += f", in place of {_list(added.lost, titles, searched, 'with it')}"
    return f"{words}."


def _list(moved: "Sequence[Moved]", titles: Mapping[str, str], searched: int, how: str) -> str:
    names = []
    for passage in moved[:NAMED]:
        place = f"not in the first {searched}" if passage.elsewhere is None else ordinal(passage.elsewhere)
        names.append(f"{titles[passage.id]} ({place} {how})")
    if len(moved) > NAMED:
        names.append(f"{len(moved) - NAMED} more")
    return join_words(names)


def say_place(place: int | None) -> str:
    """Word a rank in another ranking, "not listed" if it is not in it."""
    return ordinal(place) if place is not None else "not listed"
