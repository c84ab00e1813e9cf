"""The bundled models, loaded once for all tests of a process."""

from functools import cache

from qafd.extract import LocalExtractor
from qafd.models import LocalEmbedder


@cache
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@cache
def extractor() -> LocalExtractor:
    return LocalExtractor()
