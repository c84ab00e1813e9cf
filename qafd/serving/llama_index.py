"""A retriever for LlamaIndex; needs the package llama-index-core."""

from dataclasses import asdict

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from qafd.knowledge import KnowledgeGraph
from qafd.serving.verbs import retrieve


class LlamaIndexRetriever(BaseRetriever):
    """Passages of a workspace as LlamaIndex nodes with their scores, best first.

    Parameters
    ----------
    knowledge : KnowledgeGraph
    method : str
        See `qafd.serving.verbs.retrieve`, also for the errors.
    k : int
        The number of passages, 1 to 50.

    The metadata are the other fields of `qafd.serving.verbs.FoundPassage`.
    """

    def __init__(self, knowledge: KnowledgeGraph, method: str = "qafd", k: int = 5) -> None:
        self._knowledge, self._method, self._k = knowledge, method, k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = []
        for source in retrieve(self._knowledge, query_bundle.query_str, self._method,
                               self._k).sources:
            place = asdict(source)
            node = TextNode(text=place.pop("text"), metadata=place)
            found.append(NodeWithScore(node=node, score=source.score))
        return found
