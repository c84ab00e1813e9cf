"""Texts of one passage or of one entity: FlowRAG's summaries, and descriptions in many passages merged."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from qafd.graph import Graph
from qafd.reading.text import canonical
from qafd.records import Nodes, Vectors, node_id
from qafd.retrieve.layers.texts import Embeds, Texts, fit_texts
from qafd.retrieve.layers.writing import LayerText, Writer

SENTENCES = 2
MANY = 5  # descriptions of an entity, from which on they are merged
TEXT_TOKENS, SHOWN_TOKENS = 500, 4000  # of a text, and of what a model is shown


@dataclass(frozen=True, eq=False)
class Summaries:
    """Summary nodes V_Sum and the abstraction matrix A, FlowRAG section 3.2.

    A summary is the passage's title and a language model's text about it, as in the paper, or else its two
    sentences nearest to the passage in meaning, in their order.

    Parameters
    ----------
    passage : ndarray of int, shape (c,)
        Graph row of each summary's passage: the ones of the binding matrix B.
    texts : tuple of str, length c
    vectors : ndarray of float32, shape (c, d)
    mentions : ndarray of int, shape (a, 2)
        The ones of A: (summary, graph row of the entity).
    """

    builder: ClassVar[int] = 1

    passage: Nodes = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)
    mentions: Nodes = field(repr=False)

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, writer: Writer, /) -> Self:
        """Return the summaries of all passages."""
        if graph.vectors is None or not len(texts.rows):
            nothing = np.zeros((0, texts.vectors.shape[1]), np.float32)
            return cls(texts.rows[:0], (), nothing, texts.mentions[:0])
        nearness = np.einsum(
            "ij,ij->i", texts.vectors, graph.vectors[texts.rows[texts.owner]])
        order = np.lexsort((texts.position, -nearness, texts.owner))
        rank = np.arange(len(order)) - np.searchsorted(texts.owner, texts.owner)
        chosen = np.sort(order[rank < SENTENCES])
        taken: list[list[str]] = [[] for _ in texts.passages]
        for sentence in chosen.tolist():
            taken[texts.owner[sentence]].append(texts.sentences[sentence])
        names = [graph.names[row] for row in texts.rows.tolist()]
        drafts = [LayerText("summary", " ".join(taken[at]), f"{names[at]}\n{text}", (texts.chunks[at],))
                  for at, text in enumerate(texts.passages)]
        written = writer.write(drafts)
        summaries = tuple(f"{name}\n{text}" for name, text in zip(names, written, strict=True))
        inside = np.isin(texts.mentions[:, 0], chosen)
        said = np.column_stack([texts.owner[texts.mentions[inside, 0]],
                                texts.mentions[inside, 1]])
        titles = [graph.row.get(node_id("entity", canonical(name)), -1) for name in names]
        titled = np.column_stack([np.arange(len(titles)), np.array(titles)])
        return cls(texts.rows, summaries, embedder.embed(summaries),
                   np.unique(np.concatenate([said, titled[titled[:, 1] >= 0]]), axis=0))

    def __len__(self) -> int:
        return len(self.texts)

    def id(self, graph: Graph, summary: int) -> str:
        """Return the node id of a summary."""
        return node_id("summary", graph.ids[int(self.passage[summary])])


@dataclass(frozen=True, eq=False)
class Descriptions:
    """One description of each entity that models described in many passages (GraphRAG, LightRAG).

    A description that no language model has merged is the different texts one after the other, as many as
    fit. The answer prompt has these in the place of an entity's first descriptions.

    Parameters
    ----------
    entities : tuple of str, length k
        Node ids, sorted.
    texts : tuple of str, length k
    vectors : ndarray of float32, shape (k, d)
    """

    builder: ClassVar[int] = 1

    entities: tuple[str, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, writer: Writer, /) -> Self:
        """Return the descriptions of entities with at least `MANY` different ones."""
        drafts = {}
        for node, said in texts.described.items():
            if len(said) < MANY:
                continue
            name = graph.names[graph.row[node]]
            chunks = {chunk for some in said.values() for chunk in some}
            drafts[node] = LayerText("merge", " ".join(fit_texts(list(said), TEXT_TOKENS)),
                                 "\n".join([name, *fit_texts(list(said), SHOWN_TOKENS)]),
                                 tuple(sorted(chunks)))
        written = writer.write(list(drafts.values()))
        return cls(tuple(drafts), written,
                   embedder.embed(written) if written else texts.vectors[:0])

    def __len__(self) -> int:
        return len(self.texts)
