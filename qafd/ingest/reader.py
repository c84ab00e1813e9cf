"""Choice of the models that read a workspace, stored in it without the key, and its engine."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields

from qafd.errors import ParameterError
from qafd.ingest.embedding import EndpointEngine, MeteredEmbedder
from qafd.ingest.engine import BatchExtractor, Cluster, Engine, Here, Pool, Workers
from qafd.ingest.llm_extract import REPLY_TOKENS, TOGETHER, ModelEngine, ModelExtractor
from qafd.models import LLM
from qafd.models.address import OPENAI, check_address, is_local
from qafd.models.cost import FREE, Cap, Meter, Metered, Price, meter_of
from qafd.models.embedder import Embedder, PassageEmbedder, local_embedder
from qafd.models.multilingual import check_installed, multilingual_embedder
from qafd.models.prompts import ENTITY_TYPES
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.storage import Workspace

Keys = Mapping[str, str]
"""API keys by address of the endpoint that they are for; never stored."""
NO_KEYS: Keys = {}

SAMPLED = 200  # passages whose language is looked at


@dataclass(frozen=True)
class ModelChoice:
    """Models that read and embed the documents of a workspace; "" is the local one.

    Parameters
    ----------
    model, base_url : str
        The language model that extracts, and its endpoint.
    types, language
        See `ModelExtractor`.
    in_flight : int
        Calls at a time.
    together : int
        Passages of a call.
    deadline, attempts
        Of a call, see `Endpoint`.
    reply_tokens : int
        Most that a reply may have.
    cap : Cap
        Of one run.
    price : Price, optional
        Of the model; an endpoint on this machine or network is free without one.
    embedder, embedder_url : str
        The embedding model, and its endpoint.
    embed_price : Price, optional
        Of the embedding model; free as the other.
    languages : bool
        The local embedding model is that of some 100 languages, not the English one.
    """

    model: str = ""
    base_url: str = OPENAI
    types: tuple[str, ...] = ENTITY_TYPES
    language: str = "English"
    in_flight: int = 4
    together: int = TOGETHER
    deadline: float = 120.0
    attempts: int = 4
    reply_tokens: int = REPLY_TOKENS
    cap: Cap = field(default_factory=Cap)
    price: Price | None = None
    embedder: str = ""
    embedder_url: str = OPENAI
    embed_price: Price | None = None
    languages: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("in_flight", 1, 32), ("attempts", 1, 10),
                                ("together", 1, 16), ("reply_tokens", 1, 1_000_000),
                                ("deadline", 0.1, 3600)):
            if not low <= getattr(self, name) <= high:
                raise ParameterError(f"{name} is {getattr(self, name)}, outside of {low} to "
                                     f"{high}")
        if not self.types:
            raise ParameterError("no entity type is named; name at least one")
        for name, url in ((self.model, self.base_url), (self.embedder, self.embedder_url)):
            if name:
                check_address(url, "not known here")

    @property
    def rate(self) -> Price | None:
        """The price of the model, or nothing where the endpoint is the user's own."""
        return self.price or (FREE if is_local(self.base_url) else None)

    @property
    def embed_rate(self) -> Price | None:
        """The price of the embedding model, in the same way."""
        return self.embed_price or (FREE if is_local(self.embedder_url) else None)


def read_choice(store: Workspace) -> ModelChoice:
    """Return the choice of a workspace, without settings that another version of qafd stored there."""
    stored = store.log.choice
    if not stored:
        return ModelChoice()
    known = {field.name for field in fields(ModelChoice)}
    values = {name: value for name, value in json.loads(stored).items() if name in known}
    prices = {name: Price(**price) for name in ("price", "embed_price")
              if (price := values.pop(name, None))}
    return ModelChoice(**{**values, **prices, "types": tuple(values["types"]),
                     "cap": Cap(**values["cap"])})


def needs_languages(store: Workspace) -> bool:
    """Return True if most passages are not in English, which alone the embedding model knows."""
    choice = read_choice(store)
    if choice.embedder or choice.languages:
        return False
    texts = store.listing.sample(SAMPLED)
    return 2 * sum(language_of(text) != ENGLISH for text in texts) > len(texts)


def choose(store: Workspace, choice: ModelChoice) -> None:
    """Let the next run read with this choice; what is stored holds no key.

    Where another model or other options are to extract, that run reads all passages again. With the
    other local embedding model, it computes all vectors again.

    Raises
    ------
    ModelError
        The model of 100 languages is not installed.
    """
    before = read_choice(store)
    if choice.languages and not before.languages:
        check_installed()
    same = all(getattr(before, name) == getattr(choice, name)
               for name in ("model", "types", "language"))
    with store.transaction():
        store.log.choose(json.dumps(asdict(choice)), anew=not same)
        if choice.languages != before.languages and store.vectors.embedder[0]:
            store.vectors.forget()
            store.assembly.drop()


def build_model(choice: ModelChoice, keys: Keys) -> LLM:
    """The chosen language model.

    Raises
    ------
    MissingKeyError
        Its endpoint needs a key.
    """
    # takes two seconds to import, which the local path never needs
    from qafd.models.endpoint import Endpoint

    return Endpoint(choice.model, choice.base_url, keys.get(choice.base_url),
                    deadline=choice.deadline, attempts=choice.attempts)


def embedder_of(choice: ModelChoice, store: Workspace, keys: Keys, meter: Meter,
                run: str = "") -> MeteredEmbedder | None:
    """The chosen embedding model, its requests noted in the workspace; None for a local one.

    Raises
    ------
    MissingKeyError
        Its endpoint needs a key.
    """
    if not choice.embedder:
        return None
    from qafd.models.endpoint_embedder import EndpointEmbedder

    name, dimension = store.vectors.embedder
    model = EndpointEmbedder(
        choice.embedder, choice.embedder_url, keys.get(choice.embedder_url),
        deadline=choice.deadline, attempts=choice.attempts)
    if name == choice.embedder:
        model.known_dimension = dimension
    return MeteredEmbedder(model, store.place.url, meter, choice.embed_rate, run)


def local_embedder_of(choice: ModelChoice) -> Embedder:
    """The local embedding model of a choice."""
    return multilingual_embedder() if choice.languages else local_embedder()


def extractor_of(choice: ModelChoice, store: Workspace, llm: LLM, meter: Meter | None = None,
                 run: str = "") -> ModelExtractor:
    """A language model as an extractor of this workspace."""
    paid = Metered(llm, store.place.url, meter or Meter(), choice.rate, choice.base_url, "extract", run)
    return ModelExtractor(paid, choice.types, choice.language, choice.reply_tokens)


class Local:
    """Local engine, created at first use and kept until `close`.

    Parameters
    ----------
    extractor, embedder, processes
        See `qafd.ingest.index`.
    """

    def __init__(self, extractor: Callable[[], BatchExtractor],
                 embedder: Callable[[], PassageEmbedder], processes: int | str = 1) -> None:
        self._makers, self._processes = (extractor, embedder), processes
        self._engine: Workers | Here | None = None
        self._languages = False
        self._extractor: BatchExtractor | None = None

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End its processes."""
        if isinstance(self._engine, Workers):
            self._engine.close()
        self._engine = None

    @property
    def extractor(self) -> BatchExtractor:
        """The extractor alone, in this process."""
        self._extractor = self._extractor or self._makers[0]()
        return self._extractor

    def engine(self, languages: bool) -> Engine:
        """Extractor and embedder, which is the one of 100 `languages` or the given one, in `processes`."""
        if self._engine is not None and languages != self._languages:
            self.close()
        self._languages = languages
        if self._engine is None:
            self._engine = self._start()
        return self._engine

    def _start(self) -> Workers | Here:
        extractor, given = self._makers
        embedder = multilingual_embedder if self._languages else given
        if isinstance(self._processes, str):
            return Cluster(extractor, embedder, self._processes)
        if self._processes > 1:
            return Pool(extractor, embedder, self._processes)
        return Here(self.extractor, embedder())


def engine_of(choice: ModelChoice, store: Workspace, keys: Keys, run: str, local: Local) -> Engine:
    """The engine of a run: local, with vectors from an endpoint, or under a language model.

    All calls of the run are counted in one meter.

    Raises
    ------
    ParameterError
        The cost is capped, and the embedding model has no price.
    """
    if not choice.model and not choice.embedder:
        return local.engine(choice.languages)
    meter = meter_of(store, choice.cap, run)
    embedder = embedder_of(choice, store, keys, meter, run)
    base = (local.engine(choice.languages) if embedder is None
            else EndpointEngine(local.extractor, embedder))
    if not choice.model:
        return base
    return ModelEngine(extractor_of(choice, store, build_model(choice, keys), meter, run), base,
                       choice.in_flight, choice.together)

