"""Lists of words that rules need: files in assets/lexicons/, each with its source and licence."""

import tomllib
from functools import cache

from qafd.resources import assets


@cache
def words(file: str, name: str) -> frozenset[str]:
    """Return the words under a name in a file."""
    lexicon = tomllib.loads((assets() / "lexicons" / f"{file}.toml").read_text("utf-8"))
    return frozenset(lexicon[name].split())
