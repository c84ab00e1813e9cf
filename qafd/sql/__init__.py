"""Questions to a SQLite file: its schema as a graph, SQL from the retrieved part, read-only rows."""
