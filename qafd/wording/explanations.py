"""Explanations as sentences: why a node is here, why it is not, which way its mass came."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording import say, say_count, say_error, say_list
from qafd.wording.reasons import word_reason, word_seed

if TYPE_CHECKING:
    from qafd.explain import (
        Along,
        Balance,
        Chain,
        ChainHop,
        Gate,
        OtherReason,
        ReasoningPath,
        Remedy,
        Step,
        Why,
        WhyNot,
    )

NAMED = 3  # neighbors of a balance on each side
FEW_PARTS = 4  # diffusions that do not fill a node and are told of one by one
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
LEAST = 5e-4  # of mass that is told
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
    "edge": "Make the edge from {neighbor} {size} times as wide.",
}
_NO_SENTENCE = {
    "mention": "The name stands in the title of this passage.",
    "synonym": "The two names are alike.",
}


def say_why(why: "Why") -> str:
    """Why a node holds its mass, for people who do not know the method."""
    return _say_parts(why) if why.parts else _say_run(why)


def _say_run(why: "Why") -> str:
    if not why.seeds or not why.ways.paths:
        return say("No mass reached {name}.", name=why.name)
    first = why.seeds[0]
    values = {"name": why.name, "seed": first.name, "reason": word_seed(first.reason),
              "way": say_path(why.ways.paths[0]), "share": first.share}
    if why.balance.node.seed and first.id == why.id:
        words = say("{name} is a starting point: {reason}.", **values)
    elif why.full:
        words = say("{name} is here because mass poured on {seed} ({reason}) flowed to it: {way}. "
                    "{share:.0%} of what it holds is from {seed}.", **values)
    else:
        words = say("{name} was reached because mass poured on {seed} ({reason}) flowed to it: "
                    "{way}. {share:.0%} of what it holds is from {seed}.", **values)
    if why.full:
        return words
    return words + " " + say("It is not full, so it is not retrieved.")


def _say_parts(why: "Why") -> str:
    """Which diffusions brought a node and why, and what the others did there."""
    words, others = [], []
    for part in why.parts:
        if part.why is None:
            others.append(say("Diffusion {number} did not reach it.", number=part.number))
        elif part.full:
            words.append(say("Diffusion {number}, “{question}”, brought it.", number=part.number,
                             question=part.question))
            words.append(_say_run(part.why))
        else:
            others.append(say("Diffusion {number} left {mass:.3g} of mass on it, which does not "
                              "fill it.", number=part.number, mass=part.why.balance.node.mass))
    if not words:
        words = [say("No diffusion fills {name}, so it is not retrieved.", name=why.name)]
    if len(others) > FEW_PARTS:
        others = [say("{number} other diffusions do not fill it.", number=len(others))]
    return " ".join(words + others)


def say_balance(balance: "Balance") -> str:
    """A balance, e.g. "iPod is full: it holds 1 of 1: 0.46 from Steve Jobs".

    At most three neighbors are named on each side; the rest is summed. Numbers are rounded to
    three digits; `Balance` has them in full.
    """
    node = balance.node
    name = node.name
    if node.brought_by:
        # Each diffusion has buckets of its own; the sum of several need not be full.
        numbers = say_list([str(part + 1) for part in node.brought_by])
        name = say("{name} (filled by diffusion {numbers})", name=name, numbers=numbers)
    words = say(_HELD.get(node.state, _HELD["dry"]), name=name, held=node.mass,
                capacity=node.capacity)
    parts = []
    if balance.injected > 0:
        parts.append(say("{mass:.3g} injected by the question", mass=balance.injected))
    parts += _say_flows(balance, balance.inflows, "{mass:.3g} from {name}")
    gone = _say_flows(balance, balance.outflows, "{mass:.3g} to {name}")
    if gone:
        parts.append(say("of which {flows} went on", flows=", ".join(gone)))
    if parts:
        words = say("{held}: {flows}", held=words, flows=", ".join(parts))
    return words.rstrip(".") + "."


def _say_flows(balance: "Balance", flows: Sequence[tuple[str, float]],
               template: str) -> list[str]:
    words = [say(template, mass=mass, name=balance.names[node]) for node, mass in flows[:NAMED]]
    rest = flows[NAMED:]
    if rest:
        others = say_count(len(rest), "{number} other", "{number} others")
        words.append(say(template, mass=sum(mass for _, mass in rest), name=others))
    return words


def say_path(path: "ReasoningPath") -> str:
    """A path, such as "Steve Jobs — showed in ¶ Steve Jobs → iPad"."""
    if not path.steps:
        return say("{name}, held where it was poured", name=path.start)
    words = [path.start]
    for step in path.steps:
        words += [_say_step(step), step.target]
    return "".join(words)


def say_chain(chain: "Chain") -> str:
    """A chain, such as "Jeff Bezos → Andy Jassy → Amazon Web Services"."""
    return " → ".join([chain.start, *(hop.name for hop in chain.hops)])


def say_hop(hop: "ChainHop") -> str:
    """The sentence of a hop, where it stands, that it joins two by their passage only, and its flow."""
    said = say(_HOPS[hop.level], sentence=hop.sentence, document=hop.document)
    if hop.flow < LEAST:
        return said
    return say("{sentence}, {flow:.2g} of mass runs here", sentence=said, flow=hop.flow)


def _say_step(step: "Step") -> str:
    if step.link != "stated":
        return say(_JOINED[step.link], passage=step.passage)
    label = say("{label} (added by hand)", label=step.label) if step.by_hand else step.label
    if step.passage:
        if step.label.endswith(" in"):  # "born in in ¶ Lisbon" would read like a slip
            label = f"“{label}”"
        label = say("{label} in {passage}", label=label, passage=step.passage)
    return f" — {label} → " if step.forward else f" ← {label} — "


def say_along(along: "Along") -> str:
    """How much runs along an edge and through what."""
    values = {"source": along.source, "target": along.target, "flow": along.flow,
              "share": along.share}
    if along.flow <= 0:
        return say("No mass runs between {source} and {target}: neither holds more than it can, so "
                   "neither passes any on.", **values)
    if not along.passages:
        return say("{flow:.3g} units of mass run from {source} to {target}, {share:.0%} of all that "
                   "came there.", **values)
    through = say_count(along.passages, "through one passage that names both",
                        "through {number} passages that name both")
    if along.direct:
        through = say("directly and {through}", through=through)
    return say("{flow:.3g} units of mass run from {source} to {target} {through}, {share:.0%} of all "
               "that came there.", through=through, **values)


def say_unquoted(kind: str) -> str:
    """Why no sentence is quoted for an edge of a kind."""
    return say(_NO_SENTENCE.get(kind, "No sentence is kept that names both."))


def say_gate(gate: "Gate") -> str:
    """An edge with the numbers that make its weight."""
    return say("{source} – {target}: weight {weight:.3g}, of strength {structure:.3g} and likeness "
               "{start:.3g} and {end:.3g}", source=gate.source_name, target=gate.target_name,
               weight=gate.weight, structure=gate.structure, start=gate.alignment_source,
               end=gate.alignment_target)


def say_why_not(why: "WhyNot") -> list[str]:
    """Why a node is not retrieved, sentence by sentence, the foremost first."""
    words = []
    if why.parts:
        words.append(say("No diffusion retrieves {name}; number {part}, “{question}”, comes "
                         "nearest.", name=why.name, part=why.part, question=why.question))
    if why.held > 0:
        words.append(say("{name} holds {held:.3g} of {capacity:.3g}, so {shortfall:.3g} are missing.",
                         name=why.name, held=why.held, capacity=why.capacity,
                         shortfall=why.shortfall))
    else:
        words.append(say("No mass reached {name}.", name=why.name))
    words += _say_distance(why)
    if why.gate is not None and why.beside is not None:
        words.append(_say_narrower(why.gate, why.beside))
    return words + _say_entry(why)


def _say_distance(why: "WhyNot") -> list[str]:
    if not why.connected:
        return [say("No edges lead there from any seed.")]
    if not why.way:
        return [say("It is more than six steps from everything retrieved.")]
    if len(why.way) == 2:
        return []
    return [say("It is {steps} steps from the nearest retrieved node, {nearest}; {next} on the way "
                "there is not full, so it sends nothing on.", steps=why.steps, nearest=why.way[0],
                next=why.way[1])]


def _say_narrower(gate: "Gate", beside: "Gate") -> str:
    """Which of the three factors makes one gate narrower than another from the same node."""
    values = {"source": gate.source_name, "target": gate.target_name, "beside": beside.target_name,
              "weight": gate.weight, "other": beside.weight, "ratio": beside.weight / gate.weight}
    if beside.weight <= gate.weight:
        return say("The edge from {source} to {target} is no narrower (weight {weight:.3g}) than the "
                   "one to {beside} ({other:.3g}): what comes through is shared with others.",
                   **values)
    words = say("The edge from {source} to {target} is {ratio:.3g} times narrower than the one to "
                "{beside}", **values)
    likeness = beside.alignment_target / gate.alignment_target
    if likeness >= beside.structure / gate.structure:
        return say("{words}, mostly because {target} is less like the question ({own:.2g} against "
                   "{other:.2g}).", words=words, target=gate.target_name,
                   own=gate.alignment_target, other=beside.alignment_target)
    return say("{words}, mostly because what joins it to {source} is weaker ({own:.2g} against "
               "{other:.2g}).", words=words, source=gate.source_name, own=gate.structure,
               other=beside.structure)


def _say_entry(why: "WhyNot") -> list[str]:
    entry = why.entry
    if entry.mass is not None:
        return [say("It would be full at mass {entry}; now it is {mass:.4g}.",
                    entry=round_up(entry.mass), mass=why.mass)]
    if entry.full:
        return [say("More mass would not fill it: what is connected to the seeds is then as full as "
                    "it can be, and it is among the last.")]
    if math.isfinite(entry.searched):
        return [say("It is not full at mass {mass:,.5g}; more was not tried.", mass=entry.searched)]
    return []


def say_remedy(remedy: "Remedy", why: "WhyNot") -> str:
    """What to do to bring a node in."""
    size = remedy.size
    if remedy.kind == "mass" and why.entry.mass is not None:
        size = why.entry.mass
    neighbor = "" if why.gate is None else why.gate.source_name
    return say(_REMEDIES[remedy.kind], size=round_up(size), mass=why.mass, name=why.name,
               neighbor=neighbor)


def say_size(remedy: "Remedy") -> str:
    """How much a remedy takes: a factor, or an amount of mass."""
    if remedy.kind == "seed":
        return say("{size} of mass", size=round_up(remedy.size))
    return say("{size} times", size=round_up(remedy.size))


def say_other(other: "OtherReason") -> str:
    """What another method says of a node."""
    if other.error is not None:
        return say_error(other.error)
    if other.node is None:
        return say_count(other.full, "Not among its {number} node.", "Not among its {number} nodes.")
    return word_reason(other.node.reason)


def round_up(amount: float) -> str:
    """Four digits of a positive amount, rounded up: less would not do."""
    step = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return f"{math.ceil(round(amount / step, 6)) * step:.4g}"
