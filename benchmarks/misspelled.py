"""How often a misspelled name of a question still means its entity: by spelling and by vector.

    python benchmarks/misspelled.py WORKSPACE.db [WORKSPACE.db ...] [--names 200]

In each workspace, names of two words and eight letters or more get one letter left out, put in,
changed or exchanged with the next. "spelled" is the share whose most alike name is the right one,
"vector" and "any" those whose nearest vector is the right one, and any, at a cosine of .5 or more.
"foreign" asks one workspace for the names of another that it does not have: the share for which
something stands, by spelling and by vector. "slipped" is the share of one-word names of six letters
or more, typed small with one slip, that are read as the right one, "any slipped" that for which any
name stands; of "foreign" those of the other's names that no passage here has, and "words slipped"
of words that the other's longer documents write small. Writes results/misspelled.json.
"""

import argparse
import random
import re
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


def heard(knowledge, word):
    """Whether a workspace has a word in a passage."""
    with knowledge.store() as store:
        return store.passages.search(word, 1).total > 0


def small_words(knowledge):
    """The words of six letters or more that the passages of a workspace write small."""
    with knowledge.store() as store:
        texts = [passage.text for passage in store.passages.get(
            chunk.id for chunk in store.passages.parts()).values()]
    return {word for text in texts for word in re.findall(r"\b[a-z]{6,}\b", text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspaces", nargs="+", type=Path)
    parser.add_argument("--names", type=int, default=200)
    arguments = parser.parse_args()
    embedder, rng, rows, chosen = LocalEmbedder(), random.Random(0), [], {}
    kept = {path.stem: KnowledgeGraph.open(path) for path in arguments.workspaces}
    graphs = {name: knowledge.graph for name, knowledge in kept.items()}
    singles = {}
    for name, graph in graphs.items():
        known = sorted({one for one in graph.names if one.istitle() and one.count(" ") == 1
                        and len(one) >= 8 and names_of(graph).get(canonical(one))})
        picked = rng.sample(known, min(len(known), arguments.names))
        typed = [misspelled(one, rng) for one in picked]
        right = [names_of(graph).get(canonical(one)) for one in picked]
        spelled = [names_of(graph).alike(canonical(one)) for one in typed]
        near, cosine = nearest(graph, embedder.embed(typed))
        chosen[name] = picked
        single = sorted({one for one in graph.names if one.istitle() and one.isalpha()
                         and len(one) >= 6 and names_of(graph).get(canonical(one))})
        singles[name] = rng.sample(single, min(len(single), arguments.names))
        wrong = [misspelled(one.casefold(), rng) for one in singles[name]]
        stands = [names_of(graph).slipped(one) * (not heard(kept[name], one)) for one in wrong]
        rows.append({
            "one-word names": len(wrong), "slipped": float(np.mean([
                a == names_of(graph).get(canonical(b))
                for a, b in zip(stands, singles[name], strict=True)])),
            "any slipped": float(np.mean([bool(a) for a in stands])),
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
        lone = [one.casefold() for one in singles[other] if not heard(kept[name], one)]
        spoken = sorted(small_words(kept[other]))
        spoken = [one for one in rng.sample(spoken, min(len(spoken), 2000))
                  if not heard(kept[name], one)]
        rows.append({
            "workspace": name, "foreign": other, "names": len(absent),
            "one-word names": len(lone), "any slipped": float(np.mean(
                [bool(names_of(graphs[name]).slipped(one)) for one in lone])),
            "words": len(spoken), "words slipped": float(np.mean(
                [bool(names_of(graphs[name]).slipped(one)) for one in spoken])),
            "any spelled": float(np.mean(
                [bool(names_of(graphs[name]).alike(canonical(one))) for one in absent])),
            "any": float(np.mean(cosine >= COSINE)), "any .8": float(np.mean(cosine >= 0.8))})
        print(rows[-1])
    write("misspelled", rows, seed=0)


if __name__ == "__main__":
    main()
