"""See why a graph-based RAG system retrieved what it retrieved: query-aware flow diffusion."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qafd.flow.interop import NetworkDiffusion, diffuse
    from qafd.knowledge import KnowledgeGraph

__version__ = "0.2.0"
__all__ = ["KnowledgeGraph", "NetworkDiffusion", "diffuse"]

# Loaded at first use, so that `import qafd` takes no time.
_HOMES = {"KnowledgeGraph": "qafd.knowledge", "NetworkDiffusion": "qafd.flow.interop",
          "diffuse": "qafd.flow.interop"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'qafd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
