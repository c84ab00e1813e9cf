"""How often the way that is told ends at the answer, and over how many hops: chains and shortest paths.

    python benchmarks/chains.py DATA [DATA ...] [--cache FOLDER]

DATA is a folder with passages.jsonl and questions.jsonl, as `qafd eval retrieval` reads them. The first
three chains of a question count. With answers, only questions are asked whose answer is an entity of
the graph, and it is found where a chain ends at it. Without, the gold is found where the documents of
one chain's hops are all that are named. "shortest" are shortest paths from a named seed to the most
important names over relations and passages.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

import networkx
from results import write
from retrieval_quality import workspace

from qafd.evaluate.collection import gold_documents
from qafd.evaluate.gold import read_questions
from qafd.flow import kernel
from qafd.reading.text import canonical

FIRST = 3
SEED = 0


def tell_chains(explanation, _):
    """Hops, end and documents of the first chains."""
    found = []
    for chain in explanation.chains(FIRST):
        documents = {hop.document for hop in chain.hops}
        found.append((len(chain.hops), chain.hops[-1].name, documents))
    return found


def tell_shortest(explanation, document_of):
    """The same of shortest paths to the most important names; a document is that of a passage passed."""
    graph, retrieval = explanation.graph, explanation.retrieval
    touched = networkx.Graph((edge.source, edge.target) for edge in retrieval.edges)
    seeds = [node.id for node in retrieval.nodes if node.seed and node.id in touched]
    named = [id for id in seeds if graph.kinds[graph.row[id]] == "entity"] or seeds
    found = []
    for node in sorted(retrieval.nodes, key=lambda node: (-node.importance, node.id)):
        if node.kind != "entity" or node.seed or node.id not in touched or len(found) == FIRST:
            continue
        ways = [networkx.shortest_path(touched, seed, node.id) for seed in named
                if networkx.has_path(touched, seed, node.id)]
        if ways:
            way = min(ways, key=len)
            passages = {id for id in way if graph.kinds[graph.row[id]] == "passage"}
            found.append((len(way) - 1 - len(passages - {way[0]}), node.name,
                          {document_of[id] for id in passages}))
    return found


WAYS = {"chains": tell_chains, "shortest": tell_shortest}


def measure(knowledge, folder):
    """A row for each way."""
    asked = read_questions((folder / "questions.jsonl").read_bytes(), folder.name).questions
    documents, _ = gold_documents(knowledge, asked)
    graph = knowledge.graph
    known = {canonical(name) for name, kind in zip(graph.names, graph.kinds, strict=True)
             if kind == "entity"}
    document_of = documents_of_passages(knowledge)
    hits, hops, milliseconds, questions = Counter(), {way: Counter() for way in WAYS}, Counter(), 0
    for question in asked:
        answers = {canonical(answer) for answer in question.answers}
        if answers and not answers & known:
            continue
        questions += 1
        explanation = knowledge.explain(question.text)
        for way, tell in WAYS.items():
            started = time.process_time()
            found = tell(explanation, document_of)
            milliseconds[way] += 1000 * (time.process_time() - started)
            hops[way].update(count for count, _, _ in found)
            gold = [documents[name] for name in question.gold]
            hits[way] += any(is_right(end, passed, answers, gold) for _, end, passed in found)
    return [{"set": folder.name, "way": way, "questions": questions,
             "found by": "answer" if asked[0].answers else "documents",
             "found": round(hits[way] / questions, 3), "hops": dict(sorted(hops[way].items())),
             "ms": round(milliseconds[way] / questions, 1)} for way in WAYS]


def is_right(end, passed, answers, gold):
    """Whether a chain ends at an answer or, where none is a name, passes all gold documents."""
    return canonical(end) in answers if answers else all(one & passed for one in gold)


def documents_of_passages(knowledge):
    """The document of each passage, by node id."""
    graph = knowledge.graph
    ids = [id for id, kind in zip(graph.ids, graph.kinds, strict=True) if kind == "passage"]
    with knowledge.store() as store:
        nodes = store.graph.nodes(ids)
        chunks = store.passages.get(node.key for node in nodes.values())
    return {id: chunks[node.key].document for id, node in nodes.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    chosen = parser.parse_args()
    kernel.load()
    rows = []
    for folder in chosen.data:
        rows += measure(workspace(folder, chosen.cache), folder)
    for row in rows:
        print(row)
    write("chains", rows, SEED, "the first three chains of each question; ms are those of the processor")


if __name__ == "__main__":
    main()
