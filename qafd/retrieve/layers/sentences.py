"""The sentences of the passages and the names in them: the fine end of FlowRAG and LinearRAG."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from qafd.arrays import expand_slices
from qafd.graph import Graph
from qafd.records import Floats, Nodes, Vectors, node_id
from qafd.retrieve.layers.texts import Embeds, Texts
from qafd.retrieve.layers.writing import Writer


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentence nodes V_S, mention matrix M and counts of the contain matrix C, FlowRAG Eq. (1-2).

    Parameters
    ----------
    passage, position : ndarray of int, shape (s,)
        Graph row of each sentence's passage, and its number there.
    texts : tuple of str, length s
    vectors : ndarray of float32, shape (s, d)
        Unit rows, pooled in the context of the passage.
    mentions : ndarray of int, shape (m, 2)
        The ones of M: (sentence, graph row of the entity).
    contains : ndarray of int, shape (j, 3)
        (graph row of the passage, graph row of the entity, its count there). C is the
        count divided by the sum of the counts of its passage, see `frequency`.
    """

    builder: ClassVar[int] = 1

    passage: Nodes = field(repr=False)
    position: Nodes = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)
    mentions: Nodes = field(repr=False)
    contains: Nodes = field(repr=False)

    @classmethod
    def build(cls, _graph: Graph, texts: Texts, _embedder: Embeds, _writer: Writer, /) -> Self:
        """Return the sentences of the texts; their vectors were computed when they were indexed."""
        contains = texts.contains.copy()
        contains[:, 0] = texts.rows[contains[:, 0]]
        return cls(texts.rows[texts.owner], texts.position, texts.sentences, texts.vectors,
                   texts.mentions, contains)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def frequency(self) -> Floats:
        """C of Eq. (2) at the entries of `contains`, shape (j,); a passage's sum to 1."""
        if not len(self.contains):
            return np.zeros(0)
        counts = self.contains[:, 2].astype(np.float64)
        return np.asarray(counts / np.bincount(self.contains[:, 0], counts)[self.contains[:, 0]])

    @cached_property
    def _by_entity(self) -> tuple[Nodes, Nodes]:
        """Entity and sentence of each mention, by entity and sentence, each pair once."""
        pairs = np.unique(self.mentions[:, ::-1], axis=0)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    @cached_property
    def _by_sentence(self) -> tuple[Nodes, Nodes]:
        """Sentence and entity of each mention, by sentence."""
        order = np.argsort(self.mentions[:, 0], kind="stable")
        return self.mentions[order, 0], self.mentions[order, 1]

    def naming(self, row: int) -> Nodes:
        """Return the sentences that name an entity, ascending."""
        entities, sentences = self._by_entity
        first, last = np.searchsorted(entities, [row, row + 1])
        return sentences[first:last]

    def named_in(self, sentences: Nodes) -> Nodes:
        """Return the entities that some sentences name, ascending."""
        owners, entities = self._by_sentence
        first = np.searchsorted(owners, sentences)
        counts = np.searchsorted(owners, sentences, side="right") - first
        found: Nodes = np.unique(entities[expand_slices(first, counts)])
        return found

    def id(self, graph: Graph, sentence: int) -> str:
        """Return the node id of a sentence."""
        passage = graph.ids[int(self.passage[sentence])]
        return node_id("sentence", f"{passage}/{int(self.position[sentence])}")
