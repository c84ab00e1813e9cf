"""A reader; it runs in a process of its own and imports nothing of qafd."""

import re


def read_org(data: bytes) -> str:
    """Return an Org file as Markdown: its headings and links."""
    text = data.decode("utf-8", "replace")
    text = re.sub(r"^(\*+) ", lambda stars: "#" * len(stars[1]) + " ", text, flags=re.MULTILINE)
    return re.sub(r"\[\[([^\]]+)\]\[([^\]]+)\]\]", r"[\2](\1)", text)
