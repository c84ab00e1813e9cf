"""The pages of the site that are made: the first is README.md, and Learn has the cards of the app."""

import html
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from qafd.app.component import Staging, movie_data
from qafd.app.learn import LABELS, OPTIONS
from qafd.learn.card import Card, film_card
from qafd.learn.cards import CARDS

ROOT = Path(__file__).parents[1]
STEPS = 15  # of a slider


def on_files(files: Any, config: Any) -> Any:
    """Add the script and the style of the cards, as the app has them."""
    from mkdocs.structure.files import File  # which the tests of the cards need not have

    for name in ("movie.js", "movie.css"):
        files.append(File.generated(config, name, content=(ROOT / "assets" / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put README or the cards in the place of the marker of a page."""
    if page.file.src_uri == "learn.md":
        return markdown.replace("CARDS", "\n".join(map(write_card, CARDS)))
    readme = (ROOT / "README.md").read_text("utf-8").replace("](docs/", "](")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        readme = readme.replace(f"[{name}]({name})", name)
    return markdown.replace("README", readme) if page.file.src_uri == "index.md" else markdown


def write_card(card: Card) -> str:
    """Return a card as Markdown, around its toy with the films of all settings."""
    toy = json.dumps(film_toy(card), separators=(",", ":")).replace("</", "<\\/")
    return (f"## {card.title} {{ #{card.key} }}\n\n{card.idea}\n\n"
            f'<div class="toy"><script type="application/json">{toy}</script></div>\n\n'
            f"**Notice.** {card.notice}\n\n**Ask yourself.** {card.question}\n\n"
            f"<details><summary>Answer</summary>{html.escape(card.answer)}</details>\n\n"
            f"In the paper: {card.where}\n")


def film_toy(card: Card) -> dict[str, Any]:
    """Return the choices of a card, and a film for each of their combinations by its places."""
    choices, values = [], []
    for name, bounds in card.ranges.items():
        slides = not isinstance(bounds[0], str)
        options = np.linspace(*bounds, STEPS).round(2).tolist() if slides else list(bounds)
        start = getattr(card.start, name)
        place = int(np.argmin(np.abs(np.array(options) - start))) if slides else options.index(start)
        options[place] = start  # the texts name its numbers
        choices.append({"label": LABELS[name], "slides": slides, "start": place,
                        "options": [OPTIONS.get(str(option), option) for option in options]})
        values.append([(name, option) for option in options])
    places = dict(enumerate(card.toy.places.values()))
    films = {}
    for chosen in product(*map(enumerate, values)):
        film = film_card(card, replace(card.start, **dict(pair for _, pair in chosen)))
        films["|".join(str(place) for place, _ in chosen)] = movie_data(
            film, card.toy.names, places, Staging(card.mode, plain=True))
    return {"choices": choices, "films": films}
