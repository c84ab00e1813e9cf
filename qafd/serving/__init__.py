"""A workspace for other programs: four read-only verbs, spoken over MCP, HTTP and by retrievers."""
