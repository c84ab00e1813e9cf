"""A retriever for LangChain; needs the package langchain-core."""

from dataclasses import asdict

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from qafd.knowledge import KnowledgeGraph
from qafd.serving.verbs import retrieve


class LangChainRetriever(BaseRetriever):
    """Passages of a workspace as LangChain documents, best first.

    Parameters
    ----------
    knowledge : KnowledgeGraph
    method : str
        See `qafd.serving.verbs.retrieve`, also for the errors.
    k : int
        The number of passages, 1 to 50.

    The metadata are the other fields of `qafd.serving.verbs.FoundPassage`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge: KnowledgeGraph
    method: str = "qafd"
    k: int = 5

    def _get_relevant_documents(self, query: str, *,
                                run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
                                ) -> list[Document]:
        found = []
        for source in retrieve(self.knowledge, query, self.method, self.k).sources:
            place = asdict(source)
            found.append(Document(page_content=place.pop("text"), metadata=place))
        return found
