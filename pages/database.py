"""Database: a question to a SQLite file, the part of its schema that answers it, SQL and rows."""

from qafd.app.database import show

show()
