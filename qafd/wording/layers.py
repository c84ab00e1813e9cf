"""Where derived layers are from, in words."""

from qafd.wording import say

_ORIGINS = {
    ("imported", "built"): "imported from GraphRAG",
    ("imported", "stale"): "imported from GraphRAG; the graph has changed since, so building it "
                           "computes communities of its own"}


def say_origin(origin: str, state: str) -> str:
    """Where a layer is from; "" where it is computed here."""
    template = _ORIGINS.get((origin, state))
    return say(template) if template else ""
