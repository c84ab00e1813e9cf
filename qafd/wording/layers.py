"""Where derived layers are from, in words."""

from qafd.wording import say
from qafd.wording.counts import count

_ORIGINS = {
    ("imported", "built"): "imported from GraphRAG",
    ("imported", "stale"): "imported from GraphRAG; the graph has changed since, so building it "
                           "computes communities of its own"}


def say_origin(origin: str, state: str, model: str, written: int, texts: int) -> str:
    """Where a layer is from; "" where it is computed here."""
    if origin == "written":
        return say("{written} of {texts} written by {model}", written=f"{written:,}",
                   texts=count(texts, "text"), model=model)
    template = _ORIGINS.get((origin, state))
    return say(template) if template else ""
