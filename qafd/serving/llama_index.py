"""A retriever for LlamaIndex; needs the package llama-index-core."""

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from qafd.knowledge import KnowledgeGraph
from qafd.serving import verbs


class LlamaIndexRetriever(BaseRetriever):
    """Passages of a workspace as LlamaIndex nodes with their scores, best first.

    Parameters
    ----------
    knowledge : KnowledgeGraph
    method : str
        See `qafd.serving.verbs.query`, also for the errors.
    k : int
        The number of passages, 1 to 50.

    Metadata are file, title, heading, page, number (the rank), id, score, start and end.
    """

    def __init__(self, knowledge: KnowledgeGraph, method: str = "qafd", k: int = 5) -> None:
        self._knowledge, self._method, self._k = knowledge, method, k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = []
        sources = verbs.query(self._knowledge, query_bundle.query_str, self._method, self._k).sources
        for number, source in enumerate(sources, 1):
            node = TextNode(text=source.text, metadata=source.describe(number), id_=source.id)
            found.append(NodeWithScore(node=node, score=source.score))
        return found
