"""Which models read a workspace: a choice stored in it, without the key, and its engine."""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace

from qafd.address import OPENAI, check_address, is_local
from qafd.cost import FREE, Cap, Metered, Price, meter_of
from qafd.engine import BatchExtractor, Engine, Here, Pool
from qafd.errors import ParameterError
from qafd.llm import LLM
from qafd.llm_extract import ModelEngine, ModelExtractor, accepted
from qafd.models import PassageEmbedder
from qafd.prompts import ENTITY_TYPES
from qafd.store import Store

Keys = Mapping[str, str]
"""API keys by address of the endpoint that they are for; never stored."""
NO_KEYS: Keys = {}


@dataclass(frozen=True)
class Choice:
    """What reads and embeds the documents of a workspace; "" is what runs on this machine.

    Parameters
    ----------
    model, base_url : str
        The language model that extracts, and its endpoint.
    types, language, gleanings
        See `ModelExtractor`.
    in_flight : int
        Calls at a time.
    deadline, attempts
        Of a call, see `Endpoint`.
    cap : Cap
        Of one run.
    price : Price, optional
        Of the model; an endpoint on this machine or network is free without one.
    embedder, embedder_url : str
        The embedding model, and its endpoint.
    """

    model: str = ""
    base_url: str = OPENAI
    types: tuple[str, ...] = ENTITY_TYPES
    language: str = "English"
    gleanings: int = 0
    in_flight: int = 4
    deadline: float = 120.0
    attempts: int = 4
    cap: Cap = field(default_factory=Cap)
    price: Price | None = None
    embedder: str = ""
    embedder_url: str = OPENAI

    def __post_init__(self) -> None:
        for name, low, high in (("gleanings", 0, 3), ("in_flight", 1, 32), ("attempts", 1, 10),
                                ("deadline", 0.1, 3600)):
            if not low <= getattr(self, name) <= high:
                raise ParameterError(f"{name} is {getattr(self, name)}, outside of {low} to {high}")
        if not self.types:
            raise ParameterError("no entity type is named; name at least one")
        for name, url in ((self.model, self.base_url), (self.embedder, self.embedder_url)):
            if name:
                check_address(url, "not known here")

    @property
    def rate(self) -> Price | None:
        """The price, or nothing where the endpoint is the user's own."""
        return self.price or (FREE if is_local(self.base_url) else None)


def chosen(store: Store) -> Choice:
    """The choice of a workspace."""
    stored = store.choice
    if not stored:
        return Choice()
    values = json.loads(stored)
    price = values.pop("price")
    return Choice(**{**values, "types": tuple(values["types"]), "cap": Cap(**values["cap"]),
                     "price": price and Price(**price)})


def choose(store: Store, choice: Choice) -> None:
    """Let the next run read with this choice; what is stored holds no key.

    Where another model or other options are to extract, that run reads all passages anew.
    """
    before = chosen(store)
    same = all(getattr(before, name) == getattr(choice, name)
               for name in ("model", "types", "language", "gleanings"))
    store.choose(json.dumps(asdict(choice)), anew=not same)


def metered(choice: Choice, store: Store, run: str, purpose: str, llm: LLM) -> Metered:
    """The model with the price and cap of a choice; calls are noted in the workspace."""
    return Metered(llm, store.path, meter_of(store.path, choice.cap, run), choice.rate,
                   choice.base_url, purpose, run)


def model_of(choice: Choice, keys: Keys) -> LLM:
    """The chosen language model.

    Raises
    ------
    MissingKeyError
        Its endpoint needs a key.
    """
    # takes two seconds to import, which the local path never needs
    from qafd.endpoint import Endpoint

    return Endpoint(choice.model, choice.base_url, keys.get(choice.base_url),
                    deadline=choice.deadline, attempts=choice.attempts)


def embedder_of(choice: Choice, keys: Keys, dimension: int = 0) -> PassageEmbedder | None:
    """The chosen embedding model, None for the bundled one; `dimension` if it is known."""
    if not choice.embedder:
        return None
    from qafd.endpoint import EndpointEmbedder

    return EndpointEmbedder(
        choice.embedder, choice.embedder_url, keys.get(choice.embedder_url),
        deadline=choice.deadline, attempts=choice.attempts, dimension=dimension)


def extractor_of(choice: Choice, store: Store, llm: LLM, run: str = "") -> ModelExtractor:
    """A language model as an extractor of this workspace."""
    paid = metered(choice, store, run, "extract", llm)
    return ModelExtractor(replace(paid, accepts=accepted), choice.types, choice.language,
                          choice.gleanings)


def base_engine(choice: Choice, keys: Keys, stack: ExitStack,
                extractor: Callable[[], BatchExtractor],
                embedder: Callable[[], PassageEmbedder], processes: int) -> Engine:
    """The engine that reads locally and embeds as chosen; `stack` ends its processes."""
    remote = embedder_of(choice, keys)
    if remote is not None:
        return Here(extractor(), remote)
    if processes > 1:
        return stack.enter_context(Pool(extractor, embedder, processes))
    return Here(extractor(), embedder())


def engine_of(choice: Choice, store: Store, keys: Keys, run: str, base: Engine) -> Engine:
    """The engine of a run: the base, or a language model on top of it."""
    if not choice.model:
        return base
    return ModelEngine(
        extractor_of(choice, store, model_of(choice, keys), run), base, choice.in_flight)
