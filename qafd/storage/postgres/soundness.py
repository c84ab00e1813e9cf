"""Examination of a workspace in a database, without changing it."""

from collections.abc import Callable, Iterator

import psycopg

from qafd.errors import StoreError
from qafd.storage.diagnosis import Aspect, Diagnosis, Fault, FaultKind, fault
from qafd.storage.postgres.schema import Address, WorkspaceSchema
from qafd.storage.postgres.search import make_words, read_words
from qafd.storage.relational import examine
from qafd.storage.relational.base import Connection
from qafd.storage.relational.workspace import Workspace


def examine_schema(address: Address, open_part: Callable[[WorkspaceSchema], Workspace], deep: bool
                   ) -> Iterator[Diagnosis]:
    """Look at a schema; `open_part` makes a workspace of an open one."""
    try:
        with WorkspaceSchema.open(address.url, read_only=True) as schema:
            store = open_part(schema)
            for aspect, look in (*LOOKS, *(DEEP if deep else ())):
                yield examine.look_at(aspect, look, store, psycopg.Error)
    except StoreError as error:
        yield Diagnosis(Aspect.FILE, (fault(FaultKind.REFUSED, error=error),))


def _search(_: Workspace, connection: Connection) -> Iterator[Fault]:
    for (passage,) in connection.execute("SELECT id FROM passages WHERE words IS NULL"):
        yield fault(FaultKind.NOT_INDEXED, passage=passage)


def _search_anew(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """The rows of words against those of the passages as they are."""
    if read_words(connection) != make_words(connection):
        yield fault(FaultKind.OTHER_INDEX)


LOOKS: examine.Looks = (*examine.LOOKS, (Aspect.SEARCH, _search))
DEEP: examine.Looks = (
    *examine.DEEP, (Aspect.SEARCH_ANEW, _search_anew))
