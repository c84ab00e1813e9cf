"""A lesson of ten minutes: from the cards of Learn over Explore to Compare, on a bundled sample."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SAMPLE = "apple-amazon"
QUESTION = "Which cultivar gave the Macintosh its name?"


@dataclass(frozen=True)
class Task:
    """A task of some minutes, and the page with the settings for it."""

    minutes: int
    text: str
    label: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


LESSON = (
    Task(3, "Let the water run on the first card until nothing overflows, and say which buckets are full. "
            "These are what is retrieved.",
         "Card 1", "learn", {"card": "buckets"}),
    Task(2, "Raise the mass on the third card until the fruit begins to fill. Note at how many units.",
         "Card 3", "learn", {"card": "mass"}),
    Task(3, "Here a question is poured on the graph of real documents. Lower the mass and watch nodes "
            "leave the picture; click one that stays and read why it is there.",
         "The same in Explore", "explore", {"ws": SAMPLE, "q": QUESTION}),
    Task(2, "Other methods get the same question. Look under Differences for what only one of them found.",
         "Against other methods in Compare", "compare", {"ws": SAMPLE, "q": QUESTION}),
)
