"""A retriever for LangChain; needs the package langchain-core."""

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from qafd.knowledge import KnowledgeGraph
from qafd.serving import verbs


class LangChainRetriever(BaseRetriever):
    """Passages of a workspace as LangChain documents, best first.

    Parameters
    ----------
    knowledge : KnowledgeGraph
    method : str
        See `qafd.serving.verbs.query`, also for the errors.
    k : int
        The number of passages, 1 to 50.

    Metadata are file, title, heading, page, number (the rank), id, score, start and end.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge: KnowledgeGraph
    method: str = "qafd"
    k: int = 5

    def _get_relevant_documents(self, query: str, *,
                                run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
                                ) -> list[Document]:
        sources = verbs.query(self.knowledge, query, self.method, self.k).sources
        return [Document(page_content=source.text, metadata=source.describe(number), id=source.id)
                for number, source in enumerate(sources, 1)]
