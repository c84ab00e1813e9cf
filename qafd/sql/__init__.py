"""Questions to a SQLite file: its schema as a graph, SQL from what is retrieved, read-only rows."""
