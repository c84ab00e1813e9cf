"""Counts with their nouns, in the singular or plural."""

from qafd.wording import count_words

MINUTE, HOUR = 60, 3600

NOUNS = {
    "call": ("{number} call", "{number} calls"),
    "character": ("{number} character", "{number} characters"),
    "column": ("{number} column", "{number} columns"),
    "declared reference": ("{number} declared reference", "{number} declared references"),
    "description": ("{number} description", "{number} descriptions"),
    "document": ("{number} document", "{number} documents"),
    "edge": ("{number} edge", "{number} edges"),
    "entity": ("{number} entity", "{number} entities"),
    "file": ("{number} file", "{number} files"),
    "marked question": ("{number} marked question", "{number} marked questions"),
    "method": ("{number} method", "{number} methods"),
    "name": ("{number} name", "{number} names"),
    "node": ("{number} node", "{number} nodes"),
    "page": ("{number} page", "{number} pages"),
    "passage": ("{number} passage", "{number} passages"),
    "question": ("{number} question", "{number} questions"),
    "retrieved passage": ("{number} retrieved passage", "{number} retrieved passages"),
    "relation": ("{number} relation", "{number} relations"),
    "record": ("{number} record", "{number} records"),
    "reply": ("{number} reply of a model", "{number} replies of models"),
    "result": ("{number} result", "{number} results"),
    "retrieval": ("{number} retrieval", "{number} retrievals"),
    "round": ("{number} round", "{number} rounds"),
    "row": ("{number} row", "{number} rows"),
    "run": ("{number} run", "{number} runs"),
    "seed": ("{number} seed", "{number} seeds"),
    "sentence": ("{number} sentence", "{number} sentences"),
    "table": ("{number} table", "{number} tables"),
    "text": ("{number} text", "{number} texts"),
    "token": ("{number} token", "{number} tokens"),
    "vector": ("{number} vector", "{number} vectors"),
}


def count(number: int, noun: str) -> str:
    """Word a count of a noun of `NOUNS`: "1 passage", "2,000 passages"."""
    one, many = NOUNS[noun]
    return count_words(number, one, many)


def say_left(seconds: float | None) -> str:
    """Word the time that is left: "about 40 s left"; "" if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 55:
        return f"about {10 * round(seconds / 10)} s left"
    if seconds < 0.9 * HOUR:
        return f"about {round(seconds / MINUTE) or 1} min left"
    digits = 1 if seconds < 10 * HOUR else 0
    return f"about {seconds / HOUR:.{digits}f} h left"
