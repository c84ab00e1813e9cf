"""Documents of a graph, whose extraction is that of its file instead of a guess.

A node or edge that names its texts is mentioned in them. Every other node that has a description
or begins an edge becomes a document: its description, and a line for each edge that begins there.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from qafd.reading.formats.draft import DocumentDraft, Limits
from qafd.reading.formats.graphs.graph import ImportedEdge, ImportedGraph, ImportedNode
from qafd.reading.text import NameIndex, canonical
from qafd.reading.text.plaintext import label, one_line
from qafd.records import GIVEN, WEIGHT, Assertion, Chunk, Description, Extraction, Mention

_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"')\]]*(?=\s+[^a-z\s])|(?=\n)|\Z)", re.DOTALL)
_LEAST, _MOST = 1e-2, 1e2  # of a weight, relative to the mean


def drafts_of(
    graph: ImportedGraph, name: str, limits: Limits, notices: list[str]
) -> list[DocumentDraft]:
    """Return the documents of a graph, called "name#id"; each with the extraction that is given."""
    maker = _Maker(graph, notices)
    drafts = list(chain(maker.texts(limits), maker.nodes(limits)))
    seen: set[str] = set()
    for draft in drafts:
        identity = one_line(draft.name, 80)
        while identity in seen:
            identity += "*"
        seen.add(identity)
        draft.name = f"{label(name)}#{identity}"
    return drafts


def given_for(document: Extraction, chunk: Chunk, opening: bool) -> Extraction:
    """Return the part of a document's given extraction that lies in one of its passages.

    A mention without a place in the text, or before its first passage, belongs to the first, which
    `opening` marks; titles belong to all.
    """
    start, end = (0 if opening else chunk.start), chunk.end
    first = bisect_right(document.sentences, chunk.start, key=lambda span: span[1])
    last = bisect_right(document.sentences, chunk.end - 1, key=lambda span: span[0])
    spans = tuple((max(low, chunk.start) - chunk.start, min(high, end) - chunk.start)
                  for low, high in document.sentences[first:last])
    # All are in the order of their sentences, of which a passage has few.
    begin, stop = (bisect_left(document.mentions, number, key=_sentence_of)
                   for number in (0 if opening else first - 1, last))
    titles = document.mentions[:min(begin, bisect_left(document.mentions, 1, key=_sentence_of))]
    mentions = []
    for mention in (*(m for m in titles if m.kind == "title"), *document.mentions[begin:stop]):
        if mention.kind == "title":
            mentions.append(mention)
        elif start <= mention.start < end and (opening or mention.end):
            whole = chunk.start <= mention.start and mention.end <= end
            mentions.append(replace(
                mention, sentence=max(mention.sentence - first, 0),
                start=(mention.start - chunk.start) * whole,
                end=(mention.end - chunk.start) * whole))
    assertions = []
    least = bisect_left(document.assertions, first - 1, key=_sentence_of)
    most = bisect_left(document.assertions, last, key=_sentence_of)
    for assertion in document.assertions[least:most]:
        if start <= document.sentences[assertion.sentence][0] < end:
            assertions.append(replace(assertion, sentence=max(assertion.sentence - first, 0)))
    return Extraction(chunk.id, GIVEN, spans, tuple(mentions), tuple(assertions),
                      document.descriptions if opening else ())


def _sentence_of(one: Mention | Assertion) -> int:
    return one.sentence


class _Maker:
    """Documents with mentions; knows how every node of the graph is called in the workspace."""

    def __init__(self, graph: ImportedGraph, notices: list[str]) -> None:
        self._graph = graph
        self._names = names_of(graph.nodes, notices)
        self._keys = {node: canonical(name) for node, name in self._names.items()}
        lasts = {key for key in self._keys.values() if " " not in key}
        self._kinds = {n.id: _kind(n.kind, self._keys[n.id], lasts) for n in graph.nodes}
        weights = [edge.weight for edge in graph.edges if edge.weight is not None]
        self._mean = math.exp(sum(map(math.log, weights)) / len(weights)) if weights else 1.0

    def texts(self, limits: Limits) -> Iterable[DocumentDraft]:
        """Yield a document for each text that the graph is from."""
        nodes: dict[str, list[ImportedNode]] = defaultdict(list)
        edges: dict[str, list[ImportedEdge]] = defaultdict(list)
        known = {node.id: node for node in self._graph.nodes}
        for node in self._graph.nodes:
            for key in node.texts:
                nodes[key].append(node)
        for edge in self._graph.edges:
            for key in edge.texts:
                edges[key].append(edge)
        for text in self._graph.texts:
            here = {node.id: node for node in nodes[text.id]}
            for edge in edges[text.id]:
                here[edge.source], here[edge.target] = known[edge.source], known[edge.target]
            if not here:
                continue
            draft = DocumentDraft("graph", limits, name=text.id, title=text.title)
            draft.add(text.text)
            given = _Given(draft.text)
            given.sentence(0, draft.text)
            self._find(given, list(here.values()))
            for node in here.values():
                key = self._keys[node.id]
                if key == canonical(text.title):
                    given.mentions.append(Mention(key, self._names[node.id], 0, 0, 0, "title"))
            self._assert_all(given, text.id, edges[text.id])
            for node in nodes[text.id]:
                if node.texts[0] == text.id:
                    given.descriptions.append(self._describe(node))
            draft.given = given.extraction()
            yield draft

    def _assert_all(self, given: "_Given", text: str, edges: Sequence[ImportedEdge]) -> None:
        """Add the relations of the names of a text; the first text of an edge has its description."""
        for edge in edges:
            ends = self._keys[edge.source], self._keys[edge.target]
            given.assertions.append(Assertion(*ends, given.find_sentence(*ends), edge.label))
            if edge.texts[0] == text and (edge.description or edge.weight is not None):
                given.descriptions.append(self._state(edge))

    def nodes(self, limits: Limits) -> Iterable[DocumentDraft]:
        """Yield a document for each node that has something of its own to say."""
        begins: dict[str, list[ImportedEdge]] = defaultdict(list)
        mentioned: set[str] = set()
        for edge in self._graph.edges:
            if edge.texts:
                mentioned |= {edge.source, edge.target}
            else:
                begins[edge.source].append(edge)
                mentioned.add(edge.target)
        for node in self._graph.nodes:
            own = node.description if not node.texts else ""
            if own or begins[node.id] or not (node.texts or node.id in mentioned):
                yield self._document(node, own, begins[node.id], limits)

    def _document(self, node: ImportedNode, description: str, edges: Sequence[ImportedEdge],
                  limits: Limits) -> DocumentDraft:
        name, key = self._names[node.id], self._keys[node.id]
        draft = DocumentDraft("graph", limits, name=node.id, title=name)
        given = _Given(description or ("" if edges else name))
        given.sentence(0, given.text)
        if given.text:
            self._find(given, [node])
        lines = []
        at = len(given.text) + 2 * bool(given.text)
        for edge in edges:
            other = self._names[edge.target]
            link = f" — {edge.label} — " if edge.label else " — "
            line = name + link + other + (f": {edge.description}" if edge.description else "")
            number = len(given.sentences)
            given.sentence(at, line, len(name + link + other))
            given.mention(key, name, at, number, self._kinds[node.id])
            given.mention(self._keys[edge.target], other, at + len(name + link), number,
                          self._kinds[edge.target])
            given.assertions.append(Assertion(key, self._keys[edge.target], number, edge.label))
            if edge.weight is not None:
                given.descriptions.append(self._state(edge))
            lines.append(line)
            at += len(line) + 1
        draft.add("\n\n".join(filter(None, [given.text, "\n".join(lines)])))
        given.mentions.append(Mention(key, name, 0, 0, 0, "title"))
        if description or node.kind:
            given.descriptions.insert(0, self._describe(node))
        draft.given = given.extraction()
        return draft

    def _find(self, given: "_Given", nodes: Sequence[ImportedNode]) -> None:
        """Mention these nodes where the text names them, else at its beginning."""
        by_key = {self._keys[node.id]: node.id for node in nodes}
        found = set()
        for key, start, end in NameIndex(by_key).find(given.text, anyhow=True):
            if canonical(given.text[start:end]) != key:
                continue  # a mark that is no word is part of the name: "1 [a]"
            found.add(key)
            number = bisect_right(given.sentences, start, key=lambda span: span[0]) - 1
            given.mentions.append(Mention(key, self._names[by_key[key]], start, end, number,
                                          self._kinds[by_key[key]]))
        given.mentions += [Mention(key, self._names[node], 0, 0, 0, self._kinds[node])
                           for key, node in by_key.items() if key not in found]

    def _describe(self, node: ImportedNode) -> Description:
        return Description(self._keys[node.id], kind=node.kind, text=node.description)

    def _state(self, edge: ImportedEdge) -> Description:
        """Return the relation; where it has a weight, with that as a multiple of the geometric mean."""
        weight = 1.0 if edge.weight is None else min(max(edge.weight / self._mean, _LEAST), _MOST)
        return Description(self._keys[edge.source], self._keys[edge.target], WEIGHT,
                           edge.description, strength=weight)


class _Given:
    """The extraction of a document as it grows; sentences are half-open spans of its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sentences: list[tuple[int, int]] = []
        self.mentions: list[Mention] = []
        self.assertions: list[Assertion] = []
        self.descriptions: list[Description] = []
        self._where: dict[str, set[int]] = defaultdict(set)

    def sentence(self, at: int, text: str, whole: int = 0) -> None:
        """Add the sentences of a text that begins at an offset; none ends before `whole`."""
        start = 0
        for found in _SENTENCE.finditer(text):
            if found.end() >= whole:
                begin = start if whole and start < whole else found.start()
                self.sentences.append((at + begin, at + found.end()))
                start = found.end()

    def mention(self, key: str, name: str, start: int, number: int, kind: str) -> None:
        """Add a name that is in the text as it is."""
        self.mentions.append(Mention(key, name, start, start + len(name), number, kind))

    def find_sentence(self, *keys: str) -> int:
        """Return the first sentence with all of these keys, else with one of them.

        All mentions must have been added.
        """
        if not self._where:
            for mention in self.mentions:
                self._where[mention.key].add(mention.sentence)
        where = [self._where[key] for key in keys]
        return min(set.intersection(*where) or set.union(*where))

    def extraction(self) -> Extraction:
        """Return the entry of the log."""
        return Extraction(
            "", GIVEN, tuple(self.sentences),
            tuple(sorted(self.mentions, key=lambda m: (m.sentence, m.start, m.end, m.kind, m.key))),
            tuple(sorted(self.assertions, key=_sentence_of)), tuple(self.descriptions))


def names_of(nodes: Sequence[ImportedNode], notices: list[str]) -> dict[str, str]:
    """Return by node id a name that no other node has, as a workspace compares names."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    apart = []
    for number, node in enumerate(nodes, 1):
        name = node.name if canonical(node.name) else f"node {node.id}"
        if canonical(name) in taken:
            apart.append(name)
            name = f"{name} [{one_line(node.id, 40)}]" if node.id != node.name else (
                f"{name} [{number}]")
        while canonical(name) in taken:
            name = f"{name} [{number}]"
        taken.add(canonical(name))
        names[node.id] = name
    if apart:
        notices.append(
            f"{len(apart):,} nodes have the name of another and are kept apart by their id or "
            f"number: {', '.join(one_line(name, 40) for name in apart[:3])}"
            f"{', …' if len(apart) > 3 else ''}.")
    return names


def _kind(kind: str, key: str, lasts: set[str]) -> str:
    """Return the type of a mention; a person whose last name is another node is not called by it."""
    upper = kind.upper() or "NODE"
    return "NODE" if upper == "PROPN" or upper == "PERSON" and key.split()[-1] in lasts else upper
