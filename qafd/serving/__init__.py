"""A workspace for other programs: read-only verbs, spoken over MCP, HTTP and by retrievers."""
