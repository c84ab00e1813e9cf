"""The errors that a user can correct, as one tree.

    QafdError
    ├── ParameterError (also a ValueError)   an argument is out of its range
    ├── StoreError                           the workspace file
    │   ├── ForeignFileError                 a file of another program
    │   ├── EmbedderMismatchError            indexed with another embedding model
    │   ├── OlderSchemaError                 written by an older version of qafd
    │   ├── NewerSchemaError                 written by a newer version of qafd
    │   ├── MissingLayerError                a method's layer is not built for this graph
    │   ├── BusyError                        another process holds the writer lease
    │   └── DiskFullError                    the file cannot grow
    ├── ModelError                           a language or embedding model
    │   ├── MissingKeyError                  the endpoint needs a key, or another one
    │   ├── UnreachableError                 no usable answer, even after retries; later it may work
    │   │   └── DeadlineError                no complete answer in time
    │   ├── RefusedError                     the endpoint declines the request itself
    │   ├── MalformedReplyError              a reply without the requested form
    │   │   └── ReplyLimitError              a reply cut at its limit
    │   └── SpendingCapError                 the next call could exceed a cap
    ├── ParseError                           a document cannot be read
    └── SqlError                             a database or a query to it

Every message is one sentence or two: what happened, with the numbers, and what to do.
"""


class QafdError(Exception):
    """The base of all errors that a user can correct; anything else is a bug.

    Its message is one sentence or two: what happened, with the numbers, and what to do.
    """


class ParameterError(QafdError, ValueError):
    """An argument is out of its range."""


class StoreError(QafdError):
    """The workspace file cannot be used as asked."""


class ForeignFileError(StoreError):
    """The file belongs to another program and was not changed."""


class EmbedderMismatchError(StoreError):
    """The workspace was indexed with another embedding model."""


class OlderSchemaError(StoreError):
    """The workspace was written by an older version of qafd."""


class NewerSchemaError(StoreError):
    """The workspace was written by a newer version of qafd."""


class MissingLayerError(StoreError):
    """A retrieval method needs a layer that is not built for this version of the graph."""


class BusyError(StoreError):
    """Another process holds the writer lease of the workspace."""


class DiskFullError(StoreError):
    """The disk is full. Progress is saved and the work can be resumed."""


class ModelError(QafdError):
    """A language or embedding model failed."""

    paid = False
    """True if the request may have to be paid although it failed."""


class MissingKeyError(ModelError):
    """The endpoint needs an API key, or refuses the one it was given."""


class UnreachableError(ModelError):
    """The endpoint gave no usable answer, even after retries; the same call may work later."""


class DeadlineError(UnreachableError):
    """The endpoint gave no complete answer before the deadline or within the byte limit."""


class RefusedError(ModelError):
    """The endpoint declines the request; the same call will be declined again."""


class MalformedReplyError(ModelError):
    """The model replied, but not in the requested form."""

    paid = True
    tokens: tuple[int, int, bool] = (0, 0, True)
    """Tokens in, tokens out, and True if they are estimated."""


class ReplyLimitError(MalformedReplyError):
    """The reply of `model` ended at its limit before it was complete."""

    def __init__(self, message: str = "", model: str = "") -> None:
        super().__init__(message)
        self.model = model


class SpendingCapError(ModelError):
    """The next call could exceed the cap on calls, tokens or money; it was not made."""


class ParseError(QafdError):
    """A document cannot be read."""


class SqlError(QafdError):
    """A database cannot be read, or a query is wrong, not allowed or too much."""

