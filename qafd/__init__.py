"""See why a graph-based RAG system retrieved what it retrieved: query-aware flow diffusion."""

__version__ = "0.1.0"
