"""Made-up retrievals for the tests of the picture."""

import random

import networkx as nx

from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode

NAMES = ("Apple Inc.", "Steve Jobs", "iPhone", "iPod", "Mac")


def diffused(kinds, names, links, seeds, reach):
    """Importances that fall with the distance from seeds, flows downhill: a likely picture."""
    near = {node: set() for node in kinds}
    for u, v, _, _ in links:
        near[u].add(v)
        near[v].add(u)
    steps = dict.fromkeys(seeds, 0)
    line = list(seeds)
    for u in line:
        for v in sorted(near[u] - set(steps)):
            steps[v] = steps[u] + 1
            line.append(v)
    salt = {node: random.Random(node).random() for node in kinds}
    x = {node: max(0.0, reach - 1.7 * steps.get(node, 9) - 1.5 * salt[node]) * (0.3 + salt[node])
         for node in kinds}
    wet = {v for u in kinds if x[u] > 0 for v in near[u] if x[v] == 0}
    nodes = [RetrievedNode(
        node, names[node], kinds[node], x[node],
        1.0 if x[node] else salt[node] if node in wet else 0.0,
        "saturated" if x[node] else "wet" if node in wet else "dry",
        given_reason(f"{names[node]} is {steps.get(node, 9)} steps from a seed and holds all it can."
                     if x[node] else ""), capacity=1.0, source=3.0 if node in seeds else 0.0,
        degree=len(near[node]), seed=node in seeds, alignment=round(salt[node], 2))
        for node in kinds if x[node] > 0 or node in wet or node in seeds]
    kept = {node.id for node in nodes}
    edges = []
    for u, v, kind, word in links:
        if u in kept and v in kept:
            weight = 0.2 + salt[u] * salt[v]
            flow = weight * abs(x[u] - x[v])
            source, target = (u, v) if x[u] >= x[v] else (v, u)
            edges.append(RetrievedEdge(source, target, kind, flow, weight, word))
    nodes.sort(key=lambda n: (-n.importance, n.id))
    return Retrieval("Introduce Steve Jobs's products in Apple.", "qafd", {}, seeds,
                     tuple(nodes), tuple(edges), ())


def apple(mass, method="qafd"):
    """About 40 nodes; each method has its own reach, only two have flow."""
    graph = nx.powerlaw_cluster_graph(38, 2, 0.4, seed=1)
    names = [*NAMES, *(f"Name number {at}" for at in range(len(NAMES), len(graph)))]
    kinds = {name: "passage" if name[-1] in "49" else "entity" for name in names}
    links = []
    for u, v in graph.edges:
        mentions = "passage" in (kinds[names[u]], kinds[names[v]])
        links.append((names[u], names[v], "mention" if mentions else "relation", f"link {u}"))
    reach = {"qafd": 1 + mass / 2, "community": 6.0, "ego": 2.6, "flow_path": 3.2}[method]
    full = diffused(kinds, {node: node for node in kinds}, links, NAMES[:3], reach)
    if method in ("qafd", "flow_path"):
        return full
    nodes = [n for n in full.nodes if n.state == "saturated"]
    kept = {n.id for n in nodes}
    return Retrieval(full.query, method, {}, full.seeds, tuple(
        RetrievedNode(n.id, n.name, n.kind, 1.0 if n.seed else 0.4, 0, "saturated",
                      given_reason("It is one hop from a seed."), degree=n.degree, seed=n.seed)
        for n in nodes),
        tuple(RetrievedEdge(e.source, e.target, e.kind, 0.0, e.weight, e.label)
              for e in full.edges if e.source in kept and e.target in kept), ())


def hostile(mass):
    """Names that try to be markup, script, selectors, right-to-left or very long."""
    names = ["<img src=x onerror=window.hacked=1>", "</text><script>window.hacked=1</script>",
             "\u202eevil\u202c backwards", "x" * 100_000, "a\"]{}'\\#.b",
             "名前が長い日本語のノード",
             "مرحبا بالعالم", "", "\x00\x07 \ud800 line\nbreak", "👩‍🚀 emoji", "constructor",
             "&amp;<b>"]
    kinds = {f"id\"'<{i}>]": "<b>kind</b>" for i in range(len(names))}
    kinds["__proto__"] = kinds["constructor"] = "entity"
    ids = list(kinds)
    links = [(ids[0], other, "relation", "<i>word</i>") for other in ids[1:]]
    return diffused(kinds, dict(zip(ids, [*names, "__proto__", "toString"], strict=True)), links,
                    (ids[0], ids[1], ids[3]), 1 + mass / 2)
