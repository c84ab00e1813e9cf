"""Language models as the library sees them: messages in, one reply or a stream out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Reply:
    """What a model answered and what it cost, in tokens.

    `estimated` says that the endpoint did not count and the tokens are ours, shown with "~".
    """

    text: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False


class LLM(Protocol):
    """A chat model; every failure is a ModelError."""

    name: str

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """One reply; with a JSON schema, text that parses as JSON, else MalformedReplyError."""
        ...

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> Iterator[str]:
        """The reply piece by piece, as the endpoint sends it."""
        ...
