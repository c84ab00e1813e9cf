"""The parts of a workspace in the SQL that every backend understands.

A backend gives the connection (`qafd.storage.relational.base.Tables`), the tables, and what it
says in words of its own: opening, the lease, the search, the examination of what keeps it. See
docs/architecture.md for what may stand in a statement here.
"""
