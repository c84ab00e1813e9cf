"""Who meets all four conditions, asked of notes by a seeded generator; and how long matching takes.

    python benchmarks/exact.py [--seed 0] [--questions 20] [--methods exact,qafd,...]
    python benchmarks/exact.py --facts NAME QUESTIONS WORKSPACE

100 people, each with a town, an employer, a school and a club, in 80 notes of prose in several
styles. A question names four of these; one person has all four, and four others have three of them.
Printed for each method: how often the first person that it retrieves is the right one, and the
milliseconds of processors for a question. Then, on random graphs, the time of matching four
conditions, and one condition that leads to another unknown. Writes results/exact.json.

With --facts, questions of a file are asked of a workspace, as `qafd eval exact` does, also with
relations deleted. Writes results/exact_NAME.json.
"""

import argparse
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from results import write

from qafd.evaluate.conditions import (
    SEED,
    evaluate_conditions,
    evaluate_deleted,
    read_factual_questions,
)
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import canonical
from qafd.records import QueryCondition, node_id
from qafd.retrieve.evidence import match_exactly
from qafd.retrieve.methods import read_methods

FIRST = ["Alma", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas",
         "Karla", "Leon", "Marta", "Nils", "Olga", "Pavel", "Rosa", "Simon", "Tilda", "Victor"]
LAST = ["Abbott", "Brandt", "Calloway", "Dunmore", "Ellery"]
TOWNS = ["Ashford", "Brampton", "Colwick", "Denby", "Eastleigh", "Farnham", "Grantham", "Hexham",
         "Ilkley", "Keswick"]
EMPLOYERS = [f"{name} {kind}" for name in ("Harrow", "Linden", "Mercer", "Norfolk", "Orchard")
             for kind in ("Mills", "Shipping")]
SCHOOLS = [f"{name} {kind}" for name in ("Pembroke", "Queensway", "Ridgeway", "Stanton", "Thornton")
           for kind in ("College", "Academy")]
CLUBS = [f"{name} {kind}" for name in ("Amber", "Beacon", "Cedar", "Falcon", "Juniper")
         for kind in ("Choir", "Rowing Club")]
VALUES = (TOWNS, EMPLOYERS, SCHOOLS, CLUBS)
STYLES = (
    ("{who} lives in {what}.", "{what} has been the home of {who} for years.",
     "The letter reached {who} at a house in {what}."),
    ("{who} works for {what}.", "{what} hired {who} last spring.",
     "At {what}, the accounts are kept by {who}."),
    ("{who} studied at {what}.", "Among those who left {what} that year was {who}.",
     "{what} gave {who} a degree."),
    ("{who} is a member of {what}.", "{what} elected {who} to its board.",
     "On Thursdays {who} meets the others of {what}."))
ASKED = ("Who lives in {0}, works for {1}, studied at {2} and is a member of {3}?",
         "Which member of {3} studied at {2}, lives in {0} and is employed by {1}?",
         "Who of {1} has a home in {0}, a degree from {2} and a place in {3}?")
ADDED = ("The weather was mild.", "Nobody objected.", "More was said about the roof.",
         "The minutes were read and signed.")


def people(rng, questions):
    """Name to four values; the first of every five has all of a question, the others three."""
    names = rng.sample([f"{first} {last}" for first in FIRST for last in LAST], 100)
    combinations = set()
    while len(combinations) < questions:
        combinations.add(tuple(rng.choice(values) for values in VALUES))
    known = {}
    for number, wanted in enumerate(sorted(combinations)):
        known[names[5 * number]] = wanted
        for place in range(4):
            other = list(wanted)
            while tuple(other) in combinations or tuple(other) in known.values():
                other[place] = rng.choice(VALUES[place])
            known[names[5 * number + 1 + place]] = tuple(other)
    for name in names[5 * questions:]:
        known[name] = tuple(rng.choice(values) for values in VALUES)
    return known, [names[5 * number] for number in range(questions)]


def notes(known, rng, count=80):
    """The facts as sentences, shuffled over notes of a few paragraphs."""
    facts = [(name, place, value) for name, own in known.items() for place, value in enumerate(own)]
    rng.shuffle(facts)
    texts = []
    for number in range(count):
        sentences = [rng.choice(STYLES[place]).format(who=name, what=value)
                     for name, place, value in facts[number::count]]
        sentences.insert(rng.randrange(len(sentences)), rng.choice(ADDED))
        texts.append("\n\n".join(sentences))
    return texts


def measure(knowledge, known, wanted, methods, rng):
    """A row a method: how often the first person retrieved is right."""
    graph = knowledge.graph
    persons = {node_id("entity", canonical(name)): name for name in known}
    right = dict.fromkeys(methods, 0)
    fifth, spent = dict(right), {name: [] for name in methods}
    for name in wanted:
        question = rng.choice(ASKED).format(*known[name])
        with knowledge.store():  # as on a page, which opens it once for a question
            started = time.process_time()
            plan = knowledge.plan(question, graph)
            reading = time.process_time() - started
            for label, method in methods.items():
                started = time.process_time()
                retrieval = knowledge.retrieve(plan, method, graph=graph)
                spent[label].append(reading + time.process_time() - started)
                found = [persons[node.id] for node in retrieval.nodes if node.id in persons]
                right[label] += found[:1] == [name]
                fifth[label] += name in found[:5]
    return [{"method": label, "first": right[label] / len(wanted), "of five": fifth[label] / len(wanted),
             "milliseconds": 1000 * float(np.median(spent[label]))} for label in methods]


def matching(nodes, edges, rng, rounds=200):
    """Median and 95th percentile of the milliseconds of a star and of a chain of conditions."""
    ends = rng.integers(0, nodes, (2, edges))
    both = np.unique(np.concatenate([ends[0] * nodes + ends[1], ends[1] * nodes + ends[0]]))
    neighbors = both % nodes
    starts = np.searchsorted(both // nodes, np.arange(nodes + 1))
    everything = np.arange(nodes)

    def around(row):
        return neighbors[starts[row]:starts[row + 1]]

    shapes = {"star": (5, [QueryCondition(0, place) for place in range(1, 5)], 1),
              "chain": (5, [QueryCondition(0, 1), QueryCondition(1, 2), QueryCondition(0, 3),
                            QueryCondition(1, 4)], 2)}
    rows = []
    for shape, (size, conditions, unknown) in shapes.items():
        spent = []
        for _ in range(rounds):
            answer = int(rng.integers(nodes))
            near = around(answer)
            if len(near) < 4:
                continue
            known = {place: int(near[place - unknown]) for place in range(unknown, size)}
            if shape == "chain":
                inner = int(near[0])
                beyond = around(inner)
                if len(beyond) < 3:
                    continue
                known = {2: int(beyond[1]), 3: int(near[1]), 4: int(beyond[2])}
            started = time.process_time()
            found = list(match_exactly(size, conditions, known, around, everything))
            spent.append(1000 * (time.process_time() - started))
            assert any(one[0] == answer for one in found) or answer in known.values()
        rows.append({"nodes": nodes, "edges": len(both) // 2, "shape": shape,
                     "milliseconds": float(np.median(spent)),
                     "95%": float(np.quantile(spent, 0.95))})
    return rows


FACTS = "exact(evidence=relation),flow_and,exact,pagerank:follow,community"
BY_RELATIONS = 2  # of these, which read relations alone


def measure_facts(name, questions, workspace):
    """A row a method, for all questions, by number of conditions, and with relations deleted."""
    knowledge = KnowledgeGraph.open(workspace)
    asked = read_factual_questions(Path(questions).read_bytes(), questions)
    methods = read_methods(FACTS, knowledge.graph)
    result = evaluate_conditions(knowledge, asked, methods)
    rows = [_factual_row("all", score) for score in result.scores()]
    for size in result.sizes:
        rows += [_factual_row(f"{size} conditions", score) for score in result.scores(size)]
    for label, method in list(methods.items())[:BY_RELATIONS]:
        rows += [_factual_row("relations deleted", score)
                 for score in evaluate_deleted(knowledge, asked, label, method)]
    graph = knowledge.graph
    relations = graph.layer({"relation"})
    write(f"exact_{name}", rows, SEED,
          f"{FACTS}; precision is also the expected hit@1 when equals stand in any order; graph of "
          f"{int((graph.kinds == 'entity').sum()):,} entities and {len(relations.neighbors) // 2:,} "
          "relations")
    return rows


def _factual_row(part, score):
    row = {"questions": score.questions, "part": part, "method": score.name,
           "hit@1": score.hit_1, "hit@5": score.hit_5, "precision": score.precision,
           "recall": score.recall, "f1": score.f1}
    if score.milliseconds:
        row["milliseconds"] = score.milliseconds
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--methods", default="exact,qafd,pagerank,ego,path,community,linear,"
                        "flow_path,vector,fusion,lexical,tree")
    parser.add_argument("--facts", nargs=3, metavar=("NAME", "QUESTIONS", "WORKSPACE"))
    arguments = parser.parse_args()
    if arguments.facts:
        for row in measure_facts(*arguments.facts):
            print(row)
        return
    rng = random.Random(arguments.seed)
    known, wanted = people(rng, arguments.questions)
    with TemporaryDirectory() as folder:
        for number, text in enumerate(notes(known, rng), 1):
            (Path(folder) / f"note-{number:02}.txt").write_text(text, encoding="utf-8")
        knowledge = KnowledgeGraph.open(Path(folder) / "notes.qafd")
        knowledge.add_files(sorted(Path(folder).glob("*.txt")), processes=1)
        knowledge.build_layers()
        rows = measure(knowledge, known, wanted, read_methods(arguments.methods, knowledge.graph), rng)
    for row in rows:
        print(f"{row['method']:12} first {row['first']:.2f}  of five {row['of five']:.2f}  "
              f"{row['milliseconds']:6.1f} ms", flush=True)
    times = matching(1_000_000, 5_000_000, np.random.default_rng(arguments.seed))
    for row in times:
        print(f"{row['nodes']:,} nodes, {row['edges']:,} edges, {row['shape']}: "
              f"{row['milliseconds']:.3f} ms, 95% {row['95%']:.3f}")
    write("exact", [*rows, *times], arguments.seed)


if __name__ == "__main__":
    main()
