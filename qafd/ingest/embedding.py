"""Vectors from an endpoint: capped, noted in the ledger, and stored with every request."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from qafd.ingest.engine import BatchExtractor, Here
from qafd.models import retrying
from qafd.models.cost import Bill, Meter, Price, take_turn
from qafd.reading.text import count_tokens
from qafd.records import Chunk, Extraction, Vectors
from qafd.storage import open_workspace
from qafd.storage.rows import Call, embedding_key, key_of

if TYPE_CHECKING:
    from qafd.models.endpoint_embedder import EndpointEmbedder


@dataclass(frozen=True)
class MeteredEmbedder:
    """An embedding model whose requests are capped, noted in the workspace, and paid for once.

    The vectors of a request are stored when it ends, in a workspace that is embedded with this
    model, and are not asked for again. An `Embedder`.

    Parameters
    ----------
    model : EndpointEmbedder
    workspace : str
        The URL of the workspace.
    price : Price, optional
        A cap in dollars needs it.
    run, document, question : str
        For the ledger.
    """

    model: "EndpointEmbedder"
    workspace: str
    meter: Meter
    price: Price | None = None
    run: str = ""
    document: str = ""
    question: str = ""

    def __post_init__(self) -> None:
        self.meter.check_prices(self.name, self.price)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def dimension(self) -> int:
        """The length d of a vector; asked for with a word where it is not known."""
        if not self.model.known_dimension:
            self._ask(["word"])
        return self.model.known_dimension

    def about(self, *, document: str = "", question: str = "") -> "MeteredEmbedder":
        """The same model, with what its next requests are for."""
        return replace(self, document=document, question=question)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d).

        Raises
        ------
        SpendingCapError
            The next request could exceed the cap; it was not made.
        ModelError
            From the endpoint. Requests that were answered before are stored.
        """
        if not texts:
            return np.zeros((0, self.model.known_dimension), np.float32)
        keys = [embedding_key(self.name, text) for text in texts]
        found = self.embed_keyed({key: [text] for key, text in zip(keys, texts, strict=True)})
        return np.concatenate([found[key] for key in keys])

    def embed_keyed(self, texts: Mapping[str, Sequence[str]]) -> dict[str, Vectors]:
        """The vectors, (r, d), of some texts each under the keys that they are stored by.

        What a request completes is stored before the next one.
        """
        with take_turn((self.workspace, frozenset(texts))), open_workspace(self.workspace) as store:
            found = store.vectors.rows(texts)
            wanted = {key: some for key, some in texts.items() if key not in found}
            asked = list(dict.fromkeys(chain.from_iterable(wanted.values())))
            row_of: dict[str, Vectors] = {}
            for rows in self.model.in_requests(asked, self._ask):
                row_of |= zip(asked[len(row_of):], rows, strict=False)
                fresh: dict[str, Vectors] = {}
                for key, some in wanted.items():
                    if row_of.keys() >= set(some):
                        fresh[key] = np.stack([row_of[text] for text in some])
                wanted = {key: some for key, some in wanted.items() if key not in fresh}
                if store.vectors.embedder == (self.name, self.dimension):
                    store.vectors.put(fresh)
                    fresh = store.vectors.rows(fresh)  # as they are the next time
                found |= fresh
        return found

    def _ask(self, texts: Sequence[str]) -> Vectors:
        """The vectors of one request, unless it could exceed the cap."""
        tokens = math.ceil(1.1 * sum(2 + count_tokens(text) for text in texts))
        most = Call("", "embed", self.name, "failed", "", tokens, 0, True,
                    document=self.document, question=self.question, run=self.run)
        bill = Bill(self.meter, self.workspace, self.price, most)
        with bill.open():
            with retrying(bill.again):
                embedded = self.model.ask(texts)
            bill.note(replace(most, status="ok", tokens_in=embedded.tokens,
                              estimated=embedded.estimated))
        return embedded.vectors


class EndpointEngine(Here):
    """Reads in this process, with vectors from an endpoint, many passages in one request."""

    def __init__(self, extractor: BatchExtractor, embedder: MeteredEmbedder) -> None:
        super().__init__(extractor, embedder)
        self._metered = embedder

    def reread(self, pairs: Sequence[tuple[Chunk, Extraction]]) -> list[Vectors]:
        """The vectors of passages whose extraction is known, each (1 + s, d)."""
        keys = [key_of(self.models.embedder, *pair) for pair in pairs]
        texts = {key: texts_of(*pair) for key, pair in zip(keys, pairs, strict=True)}
        documents = {chunk.document for chunk, _ in pairs}
        found = self._metered.about(
            document=documents.pop() if len(documents) == 1 else "").embed_keyed(texts)
        return [found[key] for key in keys]


def texts_of(chunk: Chunk, extraction: Extraction) -> list[str]:
    """Return the texts to embed for a passage: it with its title, then its sentences, 1 + s texts."""
    whole = f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text
    return [whole, *(chunk.text[start:end] for start, end in extraction.sentences)]
