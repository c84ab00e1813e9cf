"""Descriptions of an entity in many passages, merged into one text."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

from qafd.graph import Graph
from qafd.records import Vectors
from qafd.retrieve.layers.texts import Embeds, Texts, fit_texts
from qafd.retrieve.layers.writing import LayerText, Writer

MANY = 5  # descriptions of an entity, from which on they are merged
TEXT_TOKENS, SHOWN_TOKENS = 500, 4000  # of a text, and of what a model is shown


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
