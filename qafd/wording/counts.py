"""Numbers of things, with the word that follows them."""

from qafd.wording import say_count

NOUNS = {
    "character": ("{number} character", "{number} characters"),
    "column": ("{number} column", "{number} columns"),
    "declared reference": ("{number} declared reference", "{number} declared references"),
    "edge": ("{number} edge", "{number} edges"),
    "entity": ("{number} entity", "{number} entities"),
    "file": ("{number} file", "{number} files"),
    "method": ("{number} method", "{number} methods"),
    "name": ("{number} name", "{number} names"),
    "node": ("{number} node", "{number} nodes"),
    "page": ("{number} page", "{number} pages"),
    "passage": ("{number} passage", "{number} passages"),
    "question": ("{number} question", "{number} questions"),
    "relation": ("{number} relation", "{number} relations"),
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
    """A number of things that have a word in `NOUNS`: "1 passage", "2,000 passages"."""
    one, many = NOUNS[noun]
    return say_count(number, one, many)
