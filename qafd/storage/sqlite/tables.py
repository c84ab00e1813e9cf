"""The schema of a workspace file: `qafd.storage.relational.schema` in SQLite's words, search and triggers."""

import sqlite3
from itertools import chain

from qafd.storage.relational.schema import SCHEMA, VERSION
from qafd.storage.relational.text_search import TOKENIZER

APPLICATION = int.from_bytes(b"qafd")
"""The `PRAGMA application_id` of every workspace file."""

TEXTUAL = ("meta", "jobs", "files", "documents", "chunks", "extractions", "mentions", "assertions",
           "plans", "runs", "llm_calls", "descriptions", "doubts", "edits")
"""The tables that hold texts and numbers rather than vectors."""

_TYPES = {"SERIAL PRIMARY KEY": "INTEGER PRIMARY KEY AUTOINCREMENT", "IDENTITY": "INTEGER",
          "BIGINT": "INTEGER", "SMALLINT": "INTEGER"}

_SEARCH = f"""
CREATE VIRTUAL TABLE passages_fts USING fts5 (title, text, tokenize='{TOKENIZER}', content='passages');
CREATE TRIGGER passages_insert AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, title, text) VALUES (NEW.rowid, NEW.title, NEW.text);
END;
CREATE TRIGGER passages_delete AFTER DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, text)
        VALUES ('delete', OLD.rowid, OLD.title, OLD.text);
END;
CREATE TRIGGER passages_update AFTER UPDATE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, text)
        VALUES ('delete', OLD.rowid, OLD.title, OLD.text);
    INSERT INTO passages_fts (rowid, title, text) VALUES (NEW.rowid, NEW.title, NEW.text);
END;
"""

_FROZEN = """
CREATE TRIGGER runs_never_change BEFORE UPDATE OF body, sha256 ON runs BEGIN
    SELECT RAISE (ABORT, 'a saved run never changes');
END;
"""

_DOCUMENT_OF = {"documents": "SELECT {row}.name AS name",
                "chunks": "SELECT {row}.document AS name",
                "extractions": "SELECT document AS name FROM chunks WHERE id = {row}.chunk"}
"""Tables that the log is read from, to the document that a row belongs to."""


def _touch_triggers() -> str:
    triggers = []
    for table, document in _DOCUMENT_OF.items():
        for event, rows in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
            # OR IGNORE would not count in a trigger of an upsert
            notes = "".join(f" INSERT INTO touched SELECT name FROM ({document.format(row=row)}) "
                            "WHERE name NOT IN (SELECT document FROM touched);" for row in rows)
            triggers.append(f"CREATE TRIGGER {table}_{event.lower()}_touches AFTER {event} ON {table} "
                            f"BEGIN{notes} END;")
    return "\n".join(triggers)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make all tables inside the transaction of the caller, which a script would end."""
    schema = SCHEMA
    for word, here in _TYPES.items():
        schema = schema.replace(word, here)
    statement = ""
    for line in chain(*(text.splitlines(keepends=True)
                        for text in (schema, _SEARCH, _FROZEN, _touch_triggers()))):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA user_version = {VERSION}")
