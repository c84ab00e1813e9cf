"""Texts of layers: made of the documents' sentences, or written by a language model from more of them.

The ledger of the workspace saves each text of a model by its input. So a layer is a pure function
of the graph, its texts and the ledger. Building it again costs nothing. Where the graph has changed,
only texts with new input are made of sentences until a model writes them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

from qafd.errors import MalformedReplyError, ReplyLimitError
from qafd.models import Message, Reply, name_limit
from qafd.models.cost import Metered, request_key, useful
from qafd.models.prompts import PROMPTS, write_messages
from qafd.reading.text.plaintext import one_line
from qafd.storage import Workspace, open_workspace

NOTE = "writer"  # under which a workspace keeps who writes its layers
LONGEST = 4000  # characters of a written text
IN_FLIGHT = 4  # calls at a time

Wrote = Callable[[int, int], None]
"""Called with how many texts of a layer are written, and how many are to be."""


@dataclass(frozen=True)
class LayerText:
    """A text that a layer needs.

    Parameters
    ----------
    task : str
        The task for a model, a key of `PROMPTS`.
    text : str
        As made of sentences.
    material : str
        The input for a model.
    chunks : tuple of str
        The ids of all passages that the material is from.
    """

    task: str
    text: str
    material: str = field(repr=False)
    chunks: tuple[str, ...] = field(repr=False)


class Writer(Protocol):
    """Drafts to texts, one each."""

    def write(self, drafts: Sequence[LayerText], /) -> tuple[str, ...]:
        """Return the texts of some drafts, in order."""
        ...


class Extracts:
    """A `Writer` that leaves texts as they are made of sentences."""

    def write(self, drafts: Sequence[LayerText], /) -> tuple[str, ...]:
        """Return the texts of some drafts, in order."""
        return tuple(draft.text for draft in drafts)


@dataclass(frozen=True)
class Authorship:
    """The model that writes the layers of a workspace, and how many texts of each it wrote.

    `limit` is the most tokens of a reply; `counts` has by layer how many texts
    are written, and how many there are.
    """

    model: str
    address: str
    limit: int
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Kept:
    """A `Writer` that takes the texts a model wrote already, without asking it.

    Parameters
    ----------
    workspace : str
        The URL of the one with the ledger.

    Attributes
    ----------
    requests : dict of str to tuple of Message
        The messages to the model for the drafts so far, by key.
    texts : dict of str to str
        Its texts, by key.
    """

    def __init__(self, workspace: str, author: Authorship) -> None:
        self._workspace, self._author = workspace, author
        self.requests: dict[str, tuple[Message, ...]] = {}
        self.texts: dict[str, str] = {}

    def write(self, drafts: Sequence[LayerText], /) -> tuple[str, ...]:
        """Return the texts of some drafts, in order; made of sentences if the model wrote none."""
        keys = []  # two passages of one text have the same
        unwritten = {}
        with open_workspace(self._workspace) as store:
            for draft in drafts:
                messages = write_messages(PROMPTS[draft.task], draft.material)
                key = request_key(self._author.address, self._author.model, messages, None,
                                  self._author.limit)
                keys.append(key)
                self.requests[key] = messages
                call = store.ledger.good_call(key)
                if call is None:
                    unwritten[key] = draft
                else:
                    self.texts[key] = one_line(call.reply, LONGEST)
        self.ask(unwritten)
        return tuple(self.texts.get(key, draft.text) for key, draft in zip(keys, drafts, strict=True))

    def ask(self, drafts: Mapping[str, LayerText]) -> None:
        """Keep the written texts, and write no more."""


class Asking(Kept):
    """A `Writer` that asks a model for the missing texts, several calls in flight.

    A useless reply leaves its text as it is made of sentences. Every reply is saved at once, so a run
    stopped by a cap, an error or Ctrl-C continues without paying twice.

    Raises
    ------
    ModelError
        From the model, after the calls that were in flight.
    """

    def __init__(self, client: Metered, author: Authorship, wrote: Wrote,
                 stopped: Callable[[], bool]) -> None:
        super().__init__(client.workspace, author)
        self._client, self._wrote, self._stopped = client, wrote, stopped

    def ask(self, drafts: Mapping[str, LayerText]) -> None:
        """Let the model write these drafts."""
        keys = list(drafts)
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            for first in range(0, len(keys), IN_FLIGHT):
                if self._stopped():
                    break
                self._wrote(first, len(keys))
                some = keys[first:first + IN_FLIGHT]
                texts = list(pool.map(lambda key: self._text(key, drafts[key]), some))
                self.texts.update({key: text for key, text in zip(some, texts, strict=True) if text})

    def _text(self, key: str, draft: LayerText) -> str:
        client = replace(self._client, accepts=_is_whole, chunk=" ".join(draft.chunks))
        try:
            reply = client.complete(self.requests[key], max_tokens=self._author.limit)
        except ReplyLimitError:
            raise
        except MalformedReplyError:
            return ""
        if reply.cut:
            raise name_limit(ReplyLimitError("", client.name), "write")
        return one_line(reply.text, LONGEST) if useful(reply) else ""


def _is_whole(reply: Reply) -> bool:
    return useful(reply) and not reply.cut


def find_author(store: Workspace) -> Authorship | None:
    """Return the model that writes the layers of a workspace, None where no model does."""
    kept = store.notes.get(NOTE)
    if not kept:
        return None
    value = json.loads(kept)
    counts = {name: (written, of) for name, (written, of) in value.pop("counts").items()}
    return Authorship(**value, counts=counts)


def keep_author(store: Workspace, author: Authorship) -> None:
    """Use the texts of this author in the layers from now on."""
    store.notes.put(NOTE, json.dumps(asdict(author)))
