"""The bundled models, loaded once for all tests of a process."""

from functools import cache

from qafd.models.embedder import LocalEmbedder
from qafd.reading.names import LocalExtractor


@cache
def embedder():
    return LocalEmbedder()


@cache
def extractor():
    return LocalExtractor()
