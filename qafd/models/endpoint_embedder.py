"""An embedding model behind an OpenAI-compatible address."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.errors import MalformedReplyError, RefusedError
from qafd.models.remote import TOO_LONG, RemoteModel, plausible_tokens
from qafd.reading.text import count_tokens
from qafd.records import Vectors

_SHORT = 100  # characters of a text that is not cut any more


@dataclass(frozen=True)
class Embedded:
    """Unit rows, shape (k, d), and how many tokens were read; `estimated` when counted here."""

    vectors: Vectors
    tokens: int
    estimated: bool


class EndpointEmbedder(RemoteModel):
    """An embedding model behind an OpenAI-compatible address; an `Embedder`.

    Vectors are scaled to unit length. A request that is declined or answered with something
    else is halved; a single text that is too long for the model is halved too, and has the mean of
    its halves, weighted by their lengths.

    Parameters
    ----------
    model, base_url, key, client, deadline, attempts
        As for `RemoteModel`.
    """

    batch = 64
    """Texts of one request, reduced if the endpoint declines so many."""
    known_dimension = 0
    """The length of its vectors, 0 if unknown; a vector of another length is refused."""

    @property
    def dimension(self) -> int:
        """The length d of a vector, found by embedding one word if unknown."""
        if not self.known_dimension:
            self.embed(["word"])
        return self.known_dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows, shape (k, d).

        Raises
        ------
        MalformedReplyError
            Vectors are missing, of several lengths, zero or not finite.
        """
        rows = [*self.in_requests(texts, lambda batch: self.ask(batch).vectors)]
        return np.concatenate(rows or [np.zeros((0, self.dimension), np.float32)])

    def in_requests(self, texts: Sequence[str],
                    ask: Callable[[Sequence[str]], Vectors]) -> Iterator[Vectors]:
        """Yield the rows of each request, in the order of `texts`; `ask` makes a request."""
        at, size = 0, self.batch
        while at < len(texts):
            batch = [text or " " for text in texts[at:at + size]]
            try:
                rows = ask(batch)
            except (RefusedError, MalformedReplyError) as error:
                too_long = TOO_LONG.search(str(error)) is not None
                if len(batch) > 1:
                    size = len(batch) // 2
                    if not too_long:  # one long text is no reason for smaller batches of others
                        self.batch = size
                    continue
                if not too_long or len(batch[0]) < _SHORT:
                    raise
                rows = self._in_halves(batch[0], ask)
            yield rows
            at += len(batch)
            size = self.batch

    def _in_halves(self, text: str, ask: Callable[[Sequence[str]], Vectors]) -> Vectors:
        middle = len(text) // 2
        cut = max(text.rfind(" ", 1, middle), middle // 2)
        halves = [text[:cut], text[cut:]]
        rows = np.concatenate([*self.in_requests(halves, ask)])  # (2, d)
        mean = np.array([len(half) for half in halves], np.float64) @ rows
        return np.asarray(mean / np.linalg.norm(mean), np.float32)[None, :]

    def ask(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of one request.

        Raises
        ------
        MalformedReplyError, DeadlineError, UnreachableError, RefusedError, MissingKeyError
        """
        return self.call(lambda: self._ask(texts))

    def _ask(self, texts: Sequence[str]) -> Embedded:
        answer = self.client.embeddings.create(
            model=self.name, input=list(texts), encoding_format="float")
        numbers = [entry.index for entry in answer.data]
        if sorted(numbers) != list(range(len(texts))):
            raise MalformedReplyError(f"{self.name} gave {len(numbers)} vectors for "
                                      f"{len(texts)} texts, not numbered from 0 to "
                                      f"{len(texts) - 1} without gap, so they cannot be assigned; "
                                      "choose another embedding model.")
        rows = [entry.embedding for entry in sorted(answer.data, key=lambda entry: entry.index)]
        sizes = {len(row) for row in rows}
        if len(sizes) == 1 and self.known_dimension not in (0, *sizes):
            raise MalformedReplyError(f"{self.name} gave a vector of {min(sizes)} numbers "
                                      f"where it gave {self.known_dimension} before; choose "
                                      "the former model again, or embed the workspace again "
                                      "(`qafd index --re-embed`).")
        if len(sizes) != 1:
            raise MalformedReplyError(f"{self.name} gave {len(rows)} vectors of the lengths "
                                      f"{sorted(sizes)} for {len(texts)} texts; choose "
                                      "another embedding model.")
        vectors = np.array(rows, np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise MalformedReplyError(f"{self.name} gave vectors that are zero or not finite; "
                                      "choose another model.")
        self.known_dimension = vectors.shape[1]
        usage = getattr(answer, "usage", None)
        read = plausible_tokens(getattr(usage, "prompt_tokens", 0)) or plausible_tokens(
            getattr(usage, "total_tokens", 0))
        return Embedded(np.asarray(vectors / lengths, np.float32),
                        read or sum(map(count_tokens, texts)), not read)
