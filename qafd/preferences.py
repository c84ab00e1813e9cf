"""Preferences for language models: endpoint, caps and prices; never a key."""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from qafd.errors import ParameterError
from qafd.ingest.reader import ModelChoice, choose, read_choice
from qafd.json_files import lock_file, replace_json
from qafd.models import CallSettings
from qafd.models.address import OPENAI, is_local
from qafd.models.cost import FREE, Allowance, Cap, Price
from qafd.storage import Workspace


@dataclass(frozen=True)
class Provider:
    """A kind of model server and where it usually listens."""

    label: str
    base_url: str


PROVIDERS = {
    "offline": Provider("Offline: no language model", ""),
    "openai": Provider("OpenAI", OPENAI),
    "ollama": Provider("Ollama", "http://localhost:11434/v1"),
    "lmstudio": Provider("LM Studio", "http://localhost:1234/v1"),
    "vllm": Provider("vLLM", "http://localhost:8000/v1"),
    "llamacpp": Provider("llama.cpp", "http://localhost:8080/v1"),
    "custom": Provider("Another address", ""),
}


LARGEST = {"most_calls": 10_000_000, "most_tokens": 10_000_000_000, "most_dollars": 1_000_000,
           "day_calls": 10_000_000, "day_tokens": 10_000_000_000, "day_dollars": 1_000_000}
SPENDING = "spending.json"
"""The file beside the settings that says what was spent today."""


@dataclass(frozen=True)
class Preferences:
    """Caps in calls, tokens and dollars, 0 for none: `most_` of one run or session, `day_` of all
    sessions, commands and jobs together on one day."""

    provider: str = "offline"
    base_url: str = ""
    model: str = ""
    embed_model: str = ""
    most_calls: int = 2000
    most_tokens: int = 5_000_000
    most_dollars: float = 5.0
    prices: tuple[tuple[str, Price], ...] = ()
    day_calls: int = 10_000
    day_tokens: int = 25_000_000
    day_dollars: float = 0.0
    calls: CallSettings = CallSettings()
    answers: bool = True
    """Let the model answer every question in the app, before the quoted sentences."""

    def __post_init__(self) -> None:
        for name in ("provider", "base_url", "model", "embed_model"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"{name} is not a text")
        if not isinstance(self.answers, bool):
            raise ParameterError("answers is true or false")
        if self.provider not in PROVIDERS:
            raise ParameterError(f"there is no provider {self.provider!r}; choose {', '.join(PROVIDERS)}")
        for name, largest in LARGEST.items():
            value = getattr(self, name)
            kinds = (int, float) if name.endswith("dollars") else (int,)
            if type(value) not in kinds or not 0 <= value <= largest:
                raise ParameterError(f"{name} is {str(value)[:40]}; it is a number from 0 to "
                                     f"{largest:,}" + ", and whole" * (len(kinds) == 1))

    def price(self, model: str, base_url: str = "") -> Price | None:
        """Return the price of a model, None if it is unknown; one on this machine is free without a price."""
        free = FREE if base_url and is_local(base_url) else None
        return dict(self.prices).get(model, free)

    def share_day(self, folder: Path) -> None:
        """Let all that this process spends count in the day's allowance of a folder."""
        Allowance.share(folder / SPENDING, Cap(
            self.day_calls or None, self.day_tokens or None, self.day_dollars or None))

    def cap_where(self, priced: bool) -> Cap:
        """Return the most that a run may spend; dollars count only where all prices are known."""
        return Cap(self.most_calls or None, self.most_tokens or None,
                   (self.most_dollars or None) if priced else None)

    def set_prices(self, choice: ModelChoice) -> ModelChoice:
        """Return the reader of a workspace with these prices and caps."""
        if not choice.model and not choice.embedder:
            return choice
        priced = replace(choice, price=self.price(choice.model) or choice.price,
                         embed_price=self.price(choice.embedder) or choice.embed_price)
        rates = [rate for name, rate in ((choice.model, priced.rate),
                                         (choice.embedder, priced.embed_rate)) if name]
        return replace(priced, cap=self.cap_where(None not in rates))

    def hold_for(self, store: Workspace) -> None:
        """Let the next runs of a workspace pay these prices and stop at these caps."""
        now = read_choice(store)
        if (priced := self.set_prices(now)) != now:
            choose(store, priced)


def load(path: Path) -> Preferences:
    """Return the preferences in a file, with the usual value of each that it lacks.

    Raises
    ------
    ParameterError
        It is not a file of preferences.
    """
    try:
        stored = json.loads(path.read_text("utf-8"))
        known = {spec.name for spec in fields(Preferences)} & stored.keys()
        prices = tuple((str(model), Price(float(sent), float(received)))
                       for model, sent, received in stored.get("prices", ()))
        read_choice = Preferences(**{name: stored[name] for name in known - {"prices", "calls"}})
        own = {spec.name for spec in fields(CallSettings)}
        calls = {name: value for name, value in stored.get("calls", {}).items() if name in own}
        return replace(read_choice, prices=prices, calls=CallSettings(**calls),
                       most_dollars=float(read_choice.most_dollars),
                       day_dollars=float(read_choice.day_dollars))
    except FileNotFoundError:
        return Preferences()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError,
            RecursionError) as error:
        raise ParameterError(f"{path} cannot be read as settings ({error}); mend or delete it") from error


def amend(path: Path, before: Preferences, after: Preferences) -> Preferences:
    """Write the differences of two preferences, price by price; other settings in the file stay.

    Returns the written preferences.
    """
    with lock_file(path):
        now = load(path) if path.exists() else before
        changed = {}
        for spec in fields(Preferences):
            if getattr(before, spec.name) != getattr(after, spec.name):
                changed[spec.name] = getattr(after, spec.name)
        if "prices" in changed:
            changed["prices"] = _amend_prices(*(dict(each.prices) for each in (now, before, after)))
        written = replace(now, **changed)
        prices = [[model, price.tokens_in, price.tokens_out] for model, price in written.prices]
        replace_json(path, asdict(written) | {"prices": prices})
        return written


def _amend_prices(now: dict[str, Price], before: dict[str, Price],
             after: dict[str, Price]) -> tuple[tuple[str, Price], ...]:
    kept = {model: price for model, price in now.items() if model in after or model not in before}
    for model, price in after.items():
        if before.get(model) != price:
            kept[model] = price
    return tuple(kept.items())
