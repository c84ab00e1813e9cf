"""An exporter of retrievals."""

from qafd.export.formats import ExportFormat
from qafd.retrieve.base import Retrieval


def write_names(retrieval: Retrieval) -> str:
    """Return the names of the retrieved nodes, one a line."""
    return "\n".join(node.name for node in retrieval.retrieved) + "\n"


NAMES = ExportFormat[Retrieval](
    "Names", "The names of the retrieved nodes.", "text/plain", "names.txt", write_names)
