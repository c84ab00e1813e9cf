"""The frozen records that pass between the stages, from document to query plan.

Offsets are Python string offsets (code points), half open. Names of nodes are text
from documents: they are shown, never trusted.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qafd.reasons import Notice

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Nodes = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]

GIVEN = "given-1"
"""The extractor of passages whose entities and relations a file of a graph gives."""
GUESS = "?"
"""End of the kind of a mention that only a small tagger found: "PERSON?"."""
BY_MODEL = "+"
"""End of the kind of a mention that only a language model takes for a name: "PLACE+"."""
WEIGHT = "weight"
"""The kind of a relation's description whose strength multiplies the weight of its edge."""


def type_of(kind: str) -> str:
    """Return the type of a name in the kind of its mention: "PLACE" in "PLACE?" and "PLACE+"."""
    return kind.rstrip(GUESS + BY_MODEL)


@dataclass(frozen=True)
class Mark:
    """From offset `start` of a document's text on: this page, under this heading."""

    start: int
    page: int | None = None
    heading: str = ""


def mark_at(marks: Sequence[Mark], offset: int) -> Mark:
    """Return the page and heading in force at an offset; `marks` in order of `start`."""
    at = bisect_right(marks, offset, key=lambda mark: mark.start)
    return marks[at - 1] if at else Mark(0)


@dataclass(frozen=True)
class Document:
    """A parsed file: plain text, and the marks of its pages and headings.

    Parameters
    ----------
    name : str
        The user's name of it (a file name or relative path); unique in a workspace.
    title : str
        From the file's own metadata or first heading, else the name without its ending.
    kind : str
        The format: "txt", "md", "html", "pdf", "docx", "xlsx", "pptx", "csv", "json", "jsonl",
        "epub"; "graph" for a node or a text of an imported graph.
    text : str
        Normalized: NFC, no NUL, no lone surrogates, "\\n" line ends.
    marks : tuple of Mark
        In order of `start`.
    """

    name: str
    title: str
    kind: str
    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Chunk:
    """A passage: the unit of extraction and of retrieval.

    `id` is a hash of (document name, text, how many equal chunks came before it), so
    chunks that an edit leaves alone keep their id. `title` is the document's title;
    `document.text[start:end] == text`.
    """

    id: str
    document: str
    title: str
    text: str
    start: int
    end: int
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True)
class Mention:
    """A name found in a chunk, at `chunk.text[start:end]`; (0, 0) for a title or heading.

    `key` is the canonical form that decides which entity it is, `kind` the tagger's type
    (unreliable: shown as a hint only) or "title", "heading", "term". `sentence` counts
    from 0 within the chunk.
    """

    key: str
    name: str
    start: int
    end: int
    sentence: int
    kind: str


@dataclass(frozen=True)
class Assertion:
    """Two entities of one sentence, `label` the verb between them or ""."""

    source: str
    target: str
    sentence: int
    label: str = ""


@dataclass(frozen=True)
class Description:
    """A language model's description of an entity, a relation, or a whole chunk.

    `source` and `target` are keys of mentions; an entity has no target, a chunk has neither. `kind`
    is an entity's type. `strength` is a relation's, from 1 to 10; for kind `WEIGHT` it is the weight
    in an imported graph as a multiple of the mean, from .01 to 100.
    """

    source: str = ""
    target: str = ""
    kind: str = ""
    text: str = ""
    keywords: tuple[str, ...] = ()
    strength: float = 0.0


@dataclass(frozen=True)
class Extraction:
    """The findings of one extractor in one chunk: an entry of the log that the graph is built from.

    `descriptions` come from language models only; they follow the order of the model's reply.
    """

    chunk: str
    extractor: str
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]
    assertions: tuple[Assertion, ...]
    # not in the text that entries are checked by, which older entries were stored with
    descriptions: tuple[Description, ...] = field(default=(), repr=False)
    # of an entity that an edit split: its key here to the name that it has in this chunk, "" for none
    split: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)


@dataclass(frozen=True)
class Node:
    """A node of the knowledge graph; `id` is a hash of (kind, key).

    `key` is the chunk id for a passage and the canonical name for an entity. `text` is the passage
    itself, or the models' description of the entity, else its first evidence sentence.
    """

    id: str
    kind: str
    key: str
    name: str
    text: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class Edge:
    """An undirected edge between two node ids; `source`, `target` keep the direction to draw.

    `kind` is "mention", "relation", "synonym" or "by_hand"; `similarity` > 0 is the
    factor of the edge weight that does not depend on the query, H(h(u), h(v)) in Eq. (1), computed
    at index time; `evidence` lists (chunk id, sentence) pairs, none where the edge was added by hand.
    """

    source: str
    target: str
    kind: str
    similarity: float
    label: str = ""
    count: int = 1
    evidence: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Keyword:
    """A phrase of the question; "low" names things, "high" names themes."""

    text: str
    level: str


@dataclass(frozen=True)
class QueryNode:
    """A name or unknown of the question; `key` is the name's in the graph, "" for an unknown.

    `others` are keys of alternative names, as in "Chile or Peru".
    """

    text: str
    key: str = ""
    others: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all names of which one is enough; none of an unknown."""
        return (self.key, *self.others) if self.key else ()

    @property
    def unknown(self) -> bool:
        """True if the question asks for it."""
        return not self.key


@dataclass(frozen=True)
class QueryCondition:
    """Required relation between two query nodes, by their indices; `negated` forbids it.

    `words` are the content words that say how.
    """

    source: int
    target: int
    words: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class QueryGraph:
    """The graph of a question; node 0 is the answer.

    `unread` are the names of the plan that are nowhere in the written question, `excluded` the keys
    of names that cannot be the answer, as after "besides".
    """

    nodes: tuple[QueryNode, ...]
    conditions: tuple[QueryCondition, ...]
    unread: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


class OnDemand:
    """Vectors that are computed when they are first read."""

    def __init__(self, compute: Callable[[], Vectors]) -> None:
        self._compute = compute

    @cached_property
    def vectors(self) -> Vectors:
        """The vectors, computed once."""
        return self._compute()


@dataclass(frozen=True)
class QueryPlan:
    """The reading of a question, from which seeds and gates are computed.

    `embedding` has shape (d,), `keyword_vectors` shape (k, d), unit rows, in the order of
    `keywords`; they may be computed on demand, since most methods compare none. `names` are the
    parts of the question that are names of entities in this graph (canonical keys). `further`
    are the plans of questions that were asked after it, Eq. (6). `planner` is "local" or the name
    of the language model that read it. `read` is the question for comparisons with texts: misspelled
    names are corrected, and characters that texts cannot have are removed; "" if it equals the
    question. `written` has the spellings of the question for names that replace its own, each with
    the key of the entity. `conditions` are those that somebody edited or a model read; None leaves them to
    `qafd.plan.query_graph`.
    """

    question: str
    keywords: tuple[Keyword, ...]
    embedding: Vectors = field(repr=False)
    keyword_vectors: Vectors | OnDemand = field(repr=False)
    names: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    further: tuple["QueryPlan", ...] = ()
    planner: str = "local"
    read: str = ""
    written: tuple[tuple[str, str], ...] = ()
    conditions: QueryGraph | None = None

    @property
    def keyword_embeddings(self) -> Vectors:
        """The vectors of the keywords, shape (k, d)."""
        given = self.keyword_vectors
        return given.vectors if isinstance(given, OnDemand) else given

    @property
    def words(self) -> str:
        """The text that passages are compared with."""
        return self.read or self.question


@dataclass(frozen=True)
class Check:
    """The result of one check; `text` is the finding and the remedy, in a sentence or two.

    With `warning` it works, but with a limitation.
    """

    name: str
    ok: bool
    text: str
    warning: bool = False

    @property
    def state(self) -> str:
        """"ok", "warn" or "fail"."""
        return "fail" if not self.ok else "warn" if self.warning else "ok"


def node_id(kind: str, key: str) -> str:
    """Return the id of a node, a hash of its kind and key."""
    return hashlib.sha256(f"{kind}\n{key}".encode()).hexdigest()[:24]
