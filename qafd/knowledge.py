"""The knowledge graph of a workspace as one object, shared by app, command line and Python."""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from qafd.answer import Answer, Draft, Written, check_reply, draft
from qafd.answer.context import BUDGET as TOKENS
from qafd.answer.context import WAYS, add_reports
from qafd.answer.conversation import SHOWN, FollowUp, Turn, follow_up, turns, what_was_said
from qafd.answer.quote import extract_answer
from qafd.curate import entities as curate
from qafd.curate.neighbors import connect, disconnect
from qafd.curate.splitting import split
from qafd.edits import Edit
from qafd.errors import ParameterError, StoreError
from qafd.explain import Explanation, explain
from qafd.explain.chains import Chain
from qafd.explain.conditions import AnswerConditions, tabulate_conditions
from qafd.explain.decomposition import PathFlow
from qafd.explain.paths import ReasoningPath, describe_paths
from qafd.explain.reach import FIRST, put_reached_first
from qafd.export.whole import whole
from qafd.graph import Graph
from qafd.graph_cache import GraphCache, add_texts, corpus_of, read_passages, sentences_of
from qafd.ingest.embedding import MeteredEmbedder
from qafd.models import LLM, CallSettings, Reply
from qafd.models.cost import Meter, Metered, RunPlan
from qafd.models.embedder import Embedder, local_embedder
from qafd.plan import Planner, ask_further, plan_by
from qafd.plan.spelling import Vocabulary
from qafd.reading.text.plaintext import storable
from qafd.records import Nodes, QueryPlan, mark_at
from qafd.retrieve import layers as layer_store
from qafd.retrieve.base import (
    Corpus,
    Imprint,
    Retrieval,
    Retriever,
    StructureKind,
    params_of,
)
from qafd.retrieve.compare import BUDGET, DEFAULT, Comparison, choose_columns, make_column
from qafd.retrieve.external import ForeignMethod
from qafd.retrieve.layers import LAYERS, LayerState, Report
from qafd.retrieve.methods import canonical, is_method, method_by, name_of
from qafd.retrieve.seeds import passages_of
from qafd.retrieve.united import weave
from qafd.samples import copy_sample
from qafd.storage import Location, Workspace, open_workspace, place_of
from qafd.storage.rows import Evidence, now
from qafd.time_left import ignore_progress

if TYPE_CHECKING:
    import networkx
    import openai

    from qafd.ingest import Footprint

T = TypeVar("T")
STEPS, MOST_STEPS = 2, 3
BUILT_FOR = 5_000
"""Passages up to which `retrieve` and `compare` build the layers that a method needs."""


class KnowledgeGraph:
    """A workspace and the graph in it.

    Parameters
    ----------
    location : str or path
        Its URL, or the path of a SQLite file; it is created when it is first opened.
    embedder : Embedder, optional
        The model that indexed it; by default the one chosen for the workspace, else the bundled
        local one.
    keys : mapping of str to str, optional
        Address to API key, for an embedding model behind an endpoint; never stored.
    meter : Meter, optional
        Counts and caps the requests to such a model; by default under the cap of a run.
    calls : CallSettings, optional
        Deadline, temperature and reply limit of the endpoints that answer.
    """

    def __init__(self, location: Location, embedder: Embedder | None = None,
                 keys: Mapping[str, str] | None = None, meter: Meter | None = None,
                 calls: CallSettings | None = None) -> None:
        self.place = place_of(location)
        self._given_embedder = embedder
        self._keys = keys or {}
        self._meter = meter
        self._calls = calls or CallSettings()
        self._remote: tuple[object, Embedder] | None = None
        self.names_questions = True
        """False if the ledger is not to name the questions that an endpoint embeds."""
        self.reader: LLM | None = None
        """The model that reads questions where no other is named; by default the local rules."""
        self.steps = STEPS

    @classmethod
    def open(cls, location: Location, keys: Mapping[str, str] | None = None,
             meter: Meter | None = None, calls: CallSettings | None = None, *,
             languages: bool | None = None) -> "KnowledgeGraph":
        """Open the workspace at a URL or path; raises StoreError if the file is something else.

        `languages` chooses the local embedding model: True for some 100 languages, False for English,
        None for what the workspace has. The choice is kept, and another one computes all vectors
        again with the next documents.
        """
        with open_workspace(location) as store:
            if languages is not None:
                from qafd.ingest.reader import choose, read_choice

                choose(store, replace(read_choice(store), embedder="", languages=languages))
            return cls(location, keys=keys, meter=meter, calls=calls)

    @classmethod
    def sample(cls, name: str = "apple-amazon",
               home: str | os.PathLike[str] | None = None) -> "KnowledgeGraph":
        """Open a copy of a bundled sample in the folder `home`, which you may change.

        Without `home` that is ~/.qafd, also where QAFD_HOME is set, which only the app and the
        commands read. An existing copy is kept.
        """
        return cls.open(copy_sample(name, Path(home) if home is not None else Path.home() / ".qafd"))

    @property
    def url(self) -> str:
        """URL of the workspace."""
        return self.place.url

    @property
    def name(self) -> str:
        """Short name of the workspace."""
        return self.place.name

    @property
    def id(self) -> str:
        """Unique id of the workspace; with `version_of` it is a cache key of its graph."""
        return self.place.id

    def store(self) -> Workspace:
        """Open the store for one `with` block of this thread; nested blocks share it."""
        return open_workspace(self.url, shared=True)

    def add_files(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *,
                  processes: int | str = 2, **listeners: Any) -> tuple[str, ...]:
        """Index files and folders; returns the names of the files that were read.

        A file without readable text becomes a failed row of `documents` and harms no other.
        A warning tells of files that share a name, see `qafd.ingest.folders.files_below`.

        Raises
        ------
        ParameterError
            A path does not exist, cannot be read, or is neither a file nor a folder.
        """
        from qafd.ingest import index
        from qafd.ingest.folders import files_below

        return index(self.url, files_below(paths, warnings.warn), processes=processes, **listeners)

    def add_text(self, name: str, text: str) -> tuple[str, ...]:
        """Index a text under a document name."""
        from qafd.ingest import index

        for given in (name, text):
            if not isinstance(given, str):
                raise ParameterError("add_text takes a name and a text as str, not "
                                     f"{type(given).__name__}; add_files reads files")
        return index(self.url, [(name, storable(text).encode())], embedder=local_embedder,
                     processes=1)

    def add_graph(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *,
                     processes: int | str = 2, **listeners: Any) -> tuple[str, ...]:
        """Add an existing graph, with its entities and relations unchanged.

        `paths` are those of `qafd.ingest.imports.read_graph`: GraphML, GEXF, node-link JSON, a CSV
        of edges, the tables of GraphRAG, or the folder that it or LightRAG wrote.

        Raises
        ------
        ParameterError
            A path does not exist, cannot be read, or is a folder without such a graph.
        ParseError
            The files hold no graph.
        """
        from qafd.ingest import index
        from qafd.ingest.imports import read_graph

        name, graph = read_graph(paths)
        return index(self.url, [(name, graph.to_json())], processes=processes, **listeners)

    def rename(self, entity: str, name: str) -> int:
        """Give an entity another name, or merge it with the entity of that name.

        Like all edits it returns its number, which `undo_edit` takes; see `qafd.curate.entities.call`.

        Raises
        ------
        ParameterError
            There is no such entity, or this cannot be its name.
        """
        return self._edit(partial(curate.call, known=entity, name=name))

    def split(self, entity: str, name: str, passages: Iterable[str]) -> int:
        """Split an entity: in the given passages (ids) it becomes another one called `name`.

        `qafd.curate.splitting.find_mixed` finds entities that may be two.

        Raises
        ------
        ParameterError
            There is no such entity, `name` cannot be its name, or the passages are not some of its own.
        """
        return self._edit(partial(split, known=entity, name=name, passages=tuple(passages)))

    def hide(self, entity: str) -> int:
        """Remove a wrong entity from the graph; raises ParameterError if there is none of that name."""
        return self._edit(partial(curate.hide, known=entity))

    def connect(self, source: str, target: str, label: str = "", note: str = "") -> int:
        """Add an edge between two entities; `label` is how they are related, `note` why.

        Raises
        ------
        ParameterError
            There is no such entity, both are one, or this edge is there.
        """
        return self._edit(partial(connect, one=source, other=target, label=label, note=note))

    def disconnect(self, one: str, other: str) -> int:
        """Remove the edges between two entities, also those of later documents.

        Raises
        ------
        ParameterError
            There is no such entity, or no edge between the two.
        """
        return self._edit(partial(disconnect, one=one, other=other))

    def undo_edit(self, number: int) -> None:
        """Undo an edit; raises StoreError if no active edit has that number."""
        self._edit(lambda store: store.edits.undo(number))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits in the order in which they were made, including undone ones."""
        with self.store() as store:
            return store.edits.all()

    def _edit(self, change: Callable[[Workspace], T]) -> T:
        from qafd.ingest import refresh

        with self.store() as store:
            done = change(store)
        refresh(self.url, keys=self._keys)
        return done

    @property
    def graph(self) -> Graph:
        """Current graph as arrays; cached in memory until it changes."""
        with self.store() as store:
            return _GRAPHS.get(store)

    def to_networkx(self) -> "networkx.MultiDiGraph":
        """Return the whole graph with all attributes, edits applied; ids are its nodes.

        Nodes have kind ("entity", "passage"), name and text, entities also type and description,
        passages document, title and page. Edges have kind ("mention", "relation", "synonym",
        "by_hand"), weight (the factor H of Eq. (1)), label, count, evidence and, where they were
        added by hand, by_hand, which is when; see `qafd.export.whole.WholeEdge`. What says
        nothing is left out. `qafd.export.formats.write_graph` writes the same as a file.
        """
        with self.store() as store, whole(store) as graph:
            return graph.to_networkx()

    @property
    def _embedder(self) -> Embedder:
        """Embedding model of this workspace.

        Raises
        ------
        MissingKeyError
            Its endpoint needs a key.
        """
        if self._given_embedder is not None:
            return self._given_embedder
        with self.store() as store:
            state = store.log.choice, store.vectors.embedder
        if not state[0]:
            return local_embedder()
        if self._remote is None or self._remote[0] != state:
            self._remote = state, self._load_embedder()
        return self._remote[1]

    def _load_embedder(self) -> Embedder:
        from qafd.ingest.reader import embedder_of, local_embedder_of, read_choice

        with self.store() as store:
            choice = read_choice(store)
            meter = self._meter or Meter(choice.cap)
            return embedder_of(choice, store, self._keys, meter) or local_embedder_of(choice)

    def _embedder_for(self, question: str) -> Embedder:
        """Return the embedding model; its requests are logged under the question."""
        embedder = self._embedder
        if self.names_questions and isinstance(embedder, MeteredEmbedder):
            return embedder.about(question=question)
        return embedder

    def plan(self, question: str, graph: Graph | None = None, *,
             client: "LLM | openai.OpenAI | None" = None, model: str = "", steps: int | None = None,
             further: Iterable[str] = ()) -> QueryPlan:
        """Link a question to the names of `graph`, by default the current one.

        Parameters
        ----------
        client, model
            As for `answer`. Names keywords instead of the local rules; when it fails, the local
            plan stays and a notice reports it.
        steps : int
            Retrievals at most, 1 to 3: after each but the last the model reads five passages and
            may ask up to two further questions; by default 2.
        further : iterable of str
            Further questions that are known already.

        Raises
        ------
        ParameterError
            When the question is empty.
        EmbedderMismatchError
            When the workspace was indexed with another model.
        """
        if not isinstance(question, str):
            raise ParameterError(f"a question is a text, not {type(question).__name__}")
        client, steps = client or self.reader, self.steps if steps is None else steps
        if not 1 <= steps <= MOST_STEPS:
            raise ParameterError(f"steps is {steps}; choose 1, 2 or {MOST_STEPS}")
        question = storable(question)
        with self.store() as store:
            embedder = self._embedder_for(question)
            store.vectors.check(embedder.name, embedder.dimension)
            graph = graph or self.graph
            planner = Planner(graph, embedder, store.edits.map_merged(),
                              Vocabulary(self._heard, partial(self._spread, graph)))
            plan = planner.plan(question)
            plan = replace(plan, further=tuple(map(planner.plan, further)))
            if client is None:
                return plan
            llm = self._language_model(client, model)
            if client is self.reader and isinstance(llm, Metered):
                llm = llm.about(question=question)
            local, plan = plan, plan_by(llm, planner, plan)
            if plan.further or plan.planner == local.planner:  # a model that failed is not waited for again
                return plan
            return self._step(llm, planner, plan, graph, steps)

    def _step(self, llm: LLM, planner: Planner, plan: QueryPlan, graph: Graph, steps: int) -> QueryPlan:
        """Return the plan with the further questions that a model asks, until it asks none."""
        for _ in range(1, steps):
            found = self.retrieve(plan, graph=graph).passages[:FIRST]
            texts = [f"{passage.title}\n{passage.text}" for passage in found]
            before, plan = plan.further, ask_further(llm, planner, plan, texts)
            if plan.further == before:
                break
        return plan

    def _heard(self, word: str) -> bool:
        """Return True if a word, in any of its forms, occurs in a passage."""
        with self.store() as store:
            return store.passages.has_word(word)

    def _spread(self, graph: Graph, words: Sequence[str]) -> Nodes:
        """Count the passages of a graph that contain each word, shape (k,)."""
        with self.store() as store:
            return passages_of(graph, partial(read_passages, graph, store)).bm25.spread(words)

    def retrieve(self, question: str | QueryPlan, method: str | Retriever = "qafd", *,
                 graph: Graph | None = None, **params: Any) -> Retrieval:
        """Retrieve a subgraph by one method, with the texts of the best passages.

        Parameters
        ----------
        question : str or QueryPlan
            A plan saves reading the question again.
        method : str or Retriever
            A name (`qafd.retrieve.methods.canonical`) with its `params`, or a configured method. Without
            `mass`, it suits the graph, see `FlowDiffusion.fit_to`. `alpha` is the paper's word:
            `alpha=50` is short for rule "source-degree" with mass 50.
        graph : Graph, optional
            The version to retrieve from; by default the one of this moment. Only then layers
            that the method needs are built first, up to `BUILT_FOR` passages.

        Raises
        ------
        ParameterError
            On an unknown method or a parameter outside its range.
        MissingLayerError
            The method needs a layer that is not built; the message shows how to build it.
        """
        with self.store() as store:
            now = graph or _GRAPHS.get(store)
            chosen = method_by(method, params, now)  # before a model is paid for the plan
            if graph is None and chosen.needs:
                self._build_small(chosen.needs)
            plan = question if isinstance(question, QueryPlan) else self.plan(question, now)
            if graph is not None:
                return self._retrieve(plan, chosen, graph, store)
            # a writer may be done with the next version before the passages of this one are read
            with store.snapshot():
                latest = _GRAPHS.get(store)
                chosen = chosen if latest is now else method_by(method, params, latest)
                return self._retrieve(plan, chosen, latest, store)

    def _build_small(self, needs: Iterable[str]) -> None:
        """Build layers in a graph of at most `BUILT_FOR` passages; a read-only file stays as it is."""
        if 0 < self.graph.count("passage") <= BUILT_FOR:
            with suppress(StoreError):  # the method says what it lacks
                self.build_layers(needs)

    def _retrieve(self, plan: QueryPlan, chosen: Retriever, graph: Graph, store: Workspace) -> Retrieval:
        if not len(graph):  # an unread workspace does not even know the dimension of its vectors
            return Retrieval(plan.question, name_of(chosen), params_of(chosen), (), (), (),
                             notices=plan.notices)
        corpus = corpus_of(graph, store, chosen.needs)
        corpus = replace(corpus, passages=corpus.passages.reading(partial(sentences_of, store)),
                         texts=store.passages.of_nodes)
        began = time.perf_counter()
        retrieval = chosen.retrieve(corpus, plan)
        if plan.further and not retrieval.parts:
            others = [chosen.retrieve(corpus, asked).ranking for asked in plan.further]
            retrieval = replace(retrieval, ranking=weave([retrieval.ranking, *others]))
        work = replace(retrieval.work, total_milliseconds=1000 * (time.perf_counter() - began))
        retrieval = replace(retrieval, work=work, further=tuple(asked.question for asked in plan.further))
        return replace(add_texts(retrieval, graph, store), made_by=self._name_origin(graph, store),
                       notices=plan.notices + retrieval.notices)

    def _name_origin(self, graph: Graph, store: Workspace) -> Imprint:
        """Name version and models; older graphs may have had other models, so theirs are blank."""
        version = version_of(graph)
        if version != store.graph.version:
            return Imprint(version)
        return Imprint(version, store.vectors.embedder[0], store.log.extractor)

    def compare(self, question: str | QueryPlan,
                methods: Iterable[str | Retriever] | Mapping[str, Any] = DEFAULT, *, budget: int = BUDGET
                ) -> Comparison:
        """Compare the retrievals of several methods for one question under one token budget.

        Layers that they need are built first in a workspace of at most `BUILT_FOR` passages;
        elsewhere `build_layers` does it.

        Parameters
        ----------
        methods : iterable of str or Retriever, or mapping
            Two to six. A mapping names the columns: its values are methods, "..." for the method of
            that name, or retrievers from outside, see `qafd.retrieve.external.ForeignMethod`. Names
            are those of `qafd.retrieve.METHODS`, the systems they re-implement
            (`qafd.retrieve.methods.ALIASES`) in any case, or configured methods. One that fails keeps its
            column, with the reason, and harms no other.
        budget : int
            Tokens of passages per method.

        Raises
        ------
        ParameterError
            On an unknown method, too few or too many of them, or a budget below 1.
        """
        if isinstance(methods, str):
            raise ParameterError(f"methods are a list of names, not {methods!r}; put them into "
                                 "one")
        if isinstance(methods, Mapping):
            methods = [self._method_in(name, value) for name, value in methods.items()]
        graph, methods = self.graph, tuple(methods)
        columns = choose_columns(methods, graph)
        named = {canonical(method) for method in methods if isinstance(method, str)}
        needs = sorted(set(chain.from_iterable(method.needs for _, method in columns.values())))
        if needs:
            self._build_small(needs)
        plan = question if isinstance(question, QueryPlan) else self.plan(question, graph)
        return Comparison(plan.question, budget, tuple(
            make_column(name, label, partial(self.retrieve, plan, name if name in named else method,
                                             graph=graph), graph, budget)
            for name, (label, method) in columns.items()))

    def _method_in(self, name: str, value: Any) -> str | Retriever:
        """Return the method that a column of a comparison means."""
        if isinstance(value, str) or value in (None, ...):
            return value if isinstance(value, str) and value != "..." else name
        if hasattr(value, "needs"):
            return cast("Retriever", value)
        if is_method(name):
            raise ParameterError(f"{name} is a method of this program; give your retriever another "
                                 "name")
        return cast("Retriever", ForeignMethod(name, value))

    def build_layers(self, names: Iterable[str] = LAYERS,
                     progress: Report = ignore_progress) -> tuple[str, ...]:
        """Build missing or stale layers, by default all; returns the names of those built.

        `progress` is called with a layer's name, how many of its texts are embedded, and how
        many there are. `qafd.ingest.jobs.enqueue(store, layers=...)` does it in the background.

        Raises
        ------
        ParameterError
            There is no layer of a name.
        StoreError
            The graph is not up to date, or was made with another embedding model.
        """
        with self.store() as store:
            store.vectors.check(self._embedder.name, self._embedder.dimension)
            return layer_store.bring_up_to_date(store, self._embedder, names, progress)

    def explain(self, asked: str | QueryPlan | Retrieval, *, graph: Graph | None = None,
                plan: QueryPlan | None = None, **params: Any) -> Explanation:
        """Explain a retrieval by flow diffusion, and find changes that would alter it.

        One with further questions is explained as it was made: diffusion by diffusion, and summed.

        Parameters
        ----------
        asked : str, QueryPlan or Retrieval
            A question with the `params` of `retrieve`, or what it retrieved.
        plan : QueryPlan, optional
            Of a retrieval, to save reading its question again.

        Raises
        ------
        ParameterError
            When the retrieval is by another method or of another plan, or its graph has changed
            since.
        """
        graph = graph or self.graph
        if not isinstance(asked, Retrieval):
            named = params.pop("method", "qafd")
            plan = asked if isinstance(asked, QueryPlan) else self.plan(asked, graph)
            asked = self.retrieve(plan, named, graph=graph, **params)
        if asked.method != "qafd":
            raise ParameterError("balances and paths are those of flow diffusion; "
                                 f"{asked.method!r} gives its reasons on its nodes")
        if asked.revision != graph.revision:
            raise ParameterError("the graph has changed since this was retrieved (version "
                                 f"{asked.revision}, now {graph.revision}); ask again")
        plan = plan or self.plan(asked.query, graph, further=asked.further)
        with self.store() as store:
            corpus = corpus_of(graph, store)
        return explain(corpus, asked, plan, self.store, partial(find_evidence, self))

    def erase(self, *names: str) -> "Footprint":
        """Erase files or documents for good and report the removed data; see `qafd.ingest`.

        Raises
        ------
        StoreError
            There is none of a name, its file waits to be read, or another process is indexing.
        """
        from qafd.ingest import erase

        return erase(self.url, names, keys=self._keys)

    def answer(self, asked: str | Retrieval, plan: QueryPlan | None = None, *,
               client: "LLM | openai.OpenAI | None" = None, model: str = "") -> Answer:
        """Answer a question by cited sentences, and with a model also in its own words.

        Parameters
        ----------
        asked : str or Retrieval
            A question is planned and retrieved first; a client reads it, too. Give the retrieval of
            a plan without one to leave it to the rules.
        plan : QueryPlan, optional
            Of the question that `asked` was retrieved for, to save reading it again.
        client : LLM or openai.OpenAI, optional
            Writes `Answer.written` from the retrieval.
        model : str
            The model of an `openai.OpenAI` client, as its endpoint calls it; by default the one
            that reads this workspace, if the endpoint has it, else the only one that it has.

        Raises
        ------
        ModelError
            From the model.
        ParameterError
            No model is named, and the endpoint has none or several.
        """
        llm = None if client is None else self._language_model(client, model)
        if isinstance(asked, str):
            plan = self.plan(asked, client=llm)
            asked = self.retrieve(plan)
        plan = plan or self.plan(asked.query, further=asked.further)
        with self.store() as store:  # to the end, or the call would open and close the file
            # A retrieval solved again, as for "what if", has no texts yet.
            asked = asked if asked.passages else add_texts(asked, self.graph, store)
            answer = extract_answer(put_reached_first(asked), plan, corpus_of(self.graph, store, ()), store)
            if llm is None or not asked.passages:
                return answer
            draft = draft_answer(self, asked, plan)
            reply = llm.complete(draft.messages, max_tokens=self._calls.reply_tokens)
            return replace(answer, written=cite_reply(self, draft, reply, llm.name))

    def follow_up(self, typed: str, earlier: Sequence[str] = (), *,
                  client: "LLM | openai.OpenAI | None" = None, model: str = "") -> FollowUp:
        """Rewrite a question that refers to earlier ones as one that can be asked alone.

        Parameters
        ----------
        typed : str
            Such as "Where was she born?" or "And Microsoft?".
        earlier : sequence of str
            Earlier questions, the oldest first; by default the last question of this workspace.
        client, model
            As for `answer`; without one the rules of `qafd.answer.conversation` read it.

        Raises
        ------
        ParameterError
            The follow-up is empty, or nothing was asked before.
        """
        before = list(earlier) or [turn.question for turn in list_questions(self)[:1]]
        said = []
        for question in before[-SHOWN:]:
            plan = self.plan(question)
            retrieval = self.retrieve(plan)
            said.append(what_was_said(retrieval, self.answer(retrieval, plan)))
        llm = None if client is None else self._language_model(client, model)
        with self.store():  # else the call would open and close the file
            return follow_up(typed, said, llm)

    def _language_model(self, client: "LLM | openai.OpenAI", model: str) -> LLM:
        if hasattr(client, "complete"):
            return cast("LLM", client)
        from qafd.ingest.reader import read_choice
        from qafd.models.endpoint import Endpoint

        url = str(client.base_url)
        if not model:
            with self.store() as store:
                reads = read_choice(store).model
            model = Endpoint("", url, client=client).choose_model(reads)
        return Endpoint(model, url, client=client).with_settings(self._calls)


def version_of(graph: Graph) -> str:
    """Name the state of the workspace that a graph was read from."""
    return _GRAPHS.version(graph)


def check_conditions(knowledge: KnowledgeGraph, retrieval: Retrieval) -> tuple[AnswerConditions, ...]:
    """List the answers of an exact retrieval with each condition, met or not, and its evidence."""
    with knowledge.store() as store:
        return tabulate_conditions(retrieval, store)


def read_corpus(knowledge: KnowledgeGraph, graph: Graph | None = None,
                needs: Sequence[str] = tuple(LAYERS)) -> Corpus:
    """Read the corpus that methods retrieve from, by default that of the current graph.

    `needs` names the layers that are read if they are built; by default all.
    """
    with knowledge.store() as store:
        return corpus_of(graph or knowledge.graph, store, needs)


def read_layer_states(knowledge: KnowledgeGraph) -> tuple[LayerState, ...]:
    """List the derived layers as built, stale or missing; methods name them in `needs`."""
    with knowledge.store() as store:
        return layer_store.states(store)


def plan_layers(knowledge: KnowledgeGraph, names: Iterable[str], client: Metered) -> RunPlan:
    """Estimate the least and the greatest cost of `write_layers` without calling a model."""
    with knowledge.store() as store:
        return layer_store.plan_layers(store, knowledge._embedder, names, client)


def write_layers(knowledge: KnowledgeGraph, names: Iterable[str], client: "LLM | openai.OpenAI",
                 model: str = "", *, progress: Report = ignore_progress,
                 stopped: Callable[[], bool] = lambda: False) -> tuple[str, ...]:
    """Build layers with reports, summaries and descriptions that a language model writes.

    `client` and `model` are as for `answer`; a `Metered` client is capped. See
    `qafd.retrieve.layers.write_layers`.

    Raises
    ------
    ParameterError
        There is no layer of a name, or no model is named.
    StoreError
        The graph is not up to date, or was made with another embedding model.
    ModelError
        From the model; texts written before it are saved and used.
    """
    llm = knowledge._language_model(client, model)
    if not isinstance(llm, Metered):
        llm = Metered(llm, knowledge.url, Meter(), purpose="write", run=f"write {now()}")
    with knowledge.store() as store:
        store.vectors.check(knowledge._embedder.name, knowledge._embedder.dimension)
        return layer_store.write_layers(store, knowledge._embedder, names, llm, progress, stopped)


def list_questions(knowledge: KnowledgeGraph) -> tuple[Turn, ...]:
    """List the questions that were asked of this workspace, the newest first."""
    with knowledge.store() as store:
        return turns(store)


def draft_answer(knowledge: KnowledgeGraph, retrieval: Retrieval, plan: QueryPlan | None = None,
                 *, budget: int = TOKENS, length: str = "short") -> Draft:
    """Build the prompt for a retrieval without sending it.

    `plan` is that of its question, to save reading it again. Reasoning paths are those of
    `explain`, or those that the method found.
    """
    ways = _list_paths(knowledge, retrieval, plan)
    with knowledge.store() as store:
        known = add_reports(put_reached_first(retrieval), knowledge.graph, store)
        return draft(known, store, ways, budget=budget, length=length)


def _list_paths(knowledge: KnowledgeGraph, retrieval: Retrieval,
                plan: QueryPlan | None) -> Sequence[ReasoningPath | Chain]:
    """List the best paths of a retrieval."""
    graph = knowledge.graph
    if not retrieval.nodes or retrieval.revision != graph.revision:
        return []
    if retrieval.method != "qafd":
        found = [PathFlow(tuple(graph.row[node] for node in one.nodes), one.score)
                 for one in retrieval.structures if one.kind == StructureKind.PATH]
        with knowledge.store() as store:
            return describe_paths(graph, graph, found, store)
    return knowledge.explain(retrieval, graph=graph, plan=plan).chains(WAYS)


def cite_reply(knowledge: KnowledgeGraph, draft: Draft, reply: Reply, model: str) -> Written:
    """Resolve the citations in a model's reply to a draft."""
    with knowledge.store() as store:
        return check_reply(draft, reply, model, store, knowledge._embedder_for(draft.question))


def find_evidence(knowledge: KnowledgeGraph, node_ids: Iterable[str]) -> tuple[Evidence, ...]:
    """Find the sentences that mention the given nodes."""
    with knowledge.store() as store:
        found = store.passages.evidence(node_ids)
        documents = {e.document for e in found}
        marks = {name: store.documents.get(name).marks for name in documents}
    # A passage may span pages; the sentence has its own.
    at = [mark_at(marks[e.document], e.start) for e in found]
    return tuple(replace(e, page=mark.page, heading=mark.heading)
                 for e, mark in zip(found, at, strict=True))


_GRAPHS = GraphCache()
