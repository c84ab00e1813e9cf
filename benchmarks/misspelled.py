"""How often a misspelled name of a question still means its entity: by spelling and by vector.

    python benchmarks/misspelled.py WORKSPACE.db [WORKSPACE.db ...] [--names 200]

In each workspace, names of two words and eight letters or more get one letter left out, put in,
changed or exchanged with the next. "spelled" is the share whose most alike name is the right one,
"vector" and "any" those whose nearest vector is the right one, and any, at a cosine of .5 or more.
"foreign" asks one workspace for the names of another that it does not have: the share for which
something stands, by spelling and by vector. Writes results/misspelled.json.
"""

import argparse
import random
from itertools import permutations
from pathlib import Path

import numpy as np
from results import write

from qafd.knowledge import KnowledgeGraph
from qafd.models.embedder import LocalEmbedder
from qafd.plan.linking import names_of
from qafd.reading.text import canonical

LETTERS = "aeiourstln"
COSINE = 0.5


def misspelled(name, rng):
    """The name with one slip of the keyboard."""
    i = rng.randrange(1, len(name) - 1)
    return rng.choice((
        name[:i] + name[i + 1:], name[:i] + rng.choice(LETTERS) + name[i:],
        name[:i] + rng.choice(LETTERS) + name[i + 1:],
        name[:i] + name[i + 1] + name[i] + name[i + 2:]))


def nearest(graph, vectors):
    """The key of the entity whose name is nearest to each vector, and the cosine."""
    rows = np.flatnonzero(graph.kinds == "entity")
    cosines = vectors @ graph.name_vectors[rows].T
    return [canonical(graph.names[rows[i]]) for i in cosines.argmax(1)], cosines.max(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspaces", nargs="+", type=Path)
    parser.add_argument("--names", type=int, default=200)
    arguments = parser.parse_args()
    embedder, rng, rows, chosen = LocalEmbedder(), random.Random(0), [], {}
    graphs = {path.stem: KnowledgeGraph.open(path).graph for path in arguments.workspaces}
    for name, graph in graphs.items():
        known = sorted({one for one in graph.names if one.istitle() and one.count(" ") == 1
                        and len(one) >= 8 and names_of(graph).get(canonical(one))})
        picked = rng.sample(known, min(len(known), arguments.names))
        typed = [misspelled(one, rng) for one in picked]
        right = [names_of(graph).get(canonical(one)) for one in picked]
        spelled = [names_of(graph).alike(canonical(one)) for one in typed]
        near, cosine = nearest(graph, embedder.embed(typed))
        chosen[name] = picked
        rows.append({
            "workspace": name, "names": len(picked),
            "spelled": float(np.mean([a == b for a, b in zip(spelled, right, strict=True)])),
            "any spelled": float(np.mean([bool(a) for a in spelled])),
            "vector": float(np.mean([a == b and c >= COSINE for a, b, c in zip(
                near, right, cosine, strict=True)])),
            "any": float(np.mean(cosine >= COSINE))})
        print(rows[-1])
    for name, other in permutations(graphs, 2):
        absent = [one for one in chosen[other] if not names_of(graphs[name]).get(canonical(one))]
        _, cosine = nearest(graphs[name], embedder.embed(absent))
        rows.append({
            "workspace": name, "foreign": other, "names": len(absent),
            "any spelled": float(np.mean(
                [bool(names_of(graphs[name]).alike(canonical(one))) for one in absent])),
            "any": float(np.mean(cosine >= COSINE)), "any .8": float(np.mean(cosine >= 0.8))})
        print(rows[-1])
    write("misspelled", rows, seed=0)


if __name__ == "__main__":
    main()
