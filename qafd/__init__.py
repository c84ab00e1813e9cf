"""See why a graph-based RAG system retrieved what it retrieved: query-aware flow diffusion."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Loaded when first asked for, so that `import qafd` costs nothing.
_HOMES = {"diffuse": "qafd.flow.interop", "KnowledgeGraph": "qafd.knowledge"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'qafd' has no attribute {name!r}")
