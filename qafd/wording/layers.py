"""Sentences about the origin of derived layers."""

from qafd.wording.counts import count

_ORIGINS = {
    ("imported", "built"): "imported from GraphRAG",
    ("imported", "stale"): "imported from GraphRAG; the graph has changed since, so building it "
                           "computes new communities"}


def say_origin(origin: str, state: str, model: str, written: int, texts: int) -> str:
    """Word the origin of a layer; "" if it is computed here."""
    if origin == "written":
        return f"{written:,} of {count(texts, 'text')} written by {model}"
    return _ORIGINS.get((origin, state), "")
