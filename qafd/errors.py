"""The errors a user can mend, as one tree.

    QafdError
    ├── ParameterError (also a ValueError)   an argument is out of its range
    ├── InfeasibleError                      more source mass than the graph can hold
    ├── ConvergenceError                     a solve ended before its tolerance
    ├── StoreError                           the workspace file
    │   ├── EmbedderMismatchError            indexed with another embedding model
    │   ├── MissingLayerError                a method needs a layer that is not built
    │   ├── NewerSchemaError                 written by a newer version of qafd
    │   ├── BusyError                        another process holds the writer lease
    │   └── DiskFullError                    the file cannot grow
    ├── ModelError                           a language or embedding model
    │   ├── MissingKeyError                  no API key
    │   ├── MalformedReplyError              the reply cannot be read
    │   └── DeadlineError                    the reply did not come in time
    ├── ParseError                           a document cannot be read
    └── SqlError                             a generated statement is refused or fails

Every message is one sentence or two: what happened, with the numbers, and what to do.
"""


class QafdError(Exception):
    """Base of all errors that a user can mend; anything else is a bug."""


class ParameterError(QafdError, ValueError):
    """An argument is out of its range."""


class InfeasibleError(QafdError):
    """The source mass cannot be absorbed by the sinks."""


class ConvergenceError(QafdError):
    """A solve ended before it reached its tolerance."""


class StoreError(QafdError):
    """The workspace file cannot be used as asked."""


class EmbedderMismatchError(StoreError):
    """The workspace was indexed with another embedding model."""


class MissingLayerError(StoreError):
    """A retrieval method needs a layer of the graph that is not built yet."""


class NewerSchemaError(StoreError):
    """The workspace was written by a newer version of qafd."""


class BusyError(StoreError):
    """Another process holds the writer lease of the workspace."""


class DiskFullError(StoreError):
    """The disk is full; what was written before stays, and the work can be resumed."""


class ModelError(QafdError):
    """A language or embedding model cannot do what was asked."""


class MissingKeyError(ModelError):
    """The endpoint wants an API key and none is set."""


class MalformedReplyError(ModelError):
    """A model's reply cannot be read."""


class DeadlineError(ModelError):
    """A model's reply did not come before the deadline."""


class ParseError(QafdError):
    """A document cannot be read."""


class SqlError(QafdError):
    """A SQL statement is refused or fails."""
