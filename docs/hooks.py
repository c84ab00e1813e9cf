"""The first page of the site is README.md, with its links as seen from this folder."""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put README in the place of the marker on the first page."""
    readme = (ROOT / "README.md").read_text("utf-8").replace("](docs/", "](")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        readme = readme.replace(f"[{name}]({name})", name)
    return markdown.replace("README", readme) if page.file.src_uri == "index.md" else markdown
