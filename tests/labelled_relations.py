"""Relations of the samples' documents and of texts beside the tests, labelled by hand.

`python tests/labelled_relations.py` prints how many of those that the reader reads are right. Each
line of data/relations.jsonl has a relation that this or an earlier version of the rules read: it is
right when its sentence states "source label target" of these two, as it stands there.
"""

import json
from pathlib import Path
from typing import NamedTuple

from qafd.reading.names import LocalExtractor
from qafd.records import Chunk

HERE = Path(__file__).parent
LABELS = HERE / "data" / "relations.jsonl"
FOLDERS = (HERE / "data" / "relation_texts", *(
    HERE.parent / "assets" / "samples" / name for name in ("apple-amazon", "elements", "songbook")))


class Relation(NamedTuple):
    """A relation with words, in a document; names as canonical keys."""

    document: str
    source: str
    label: str
    target: str


def read_relations(reader):
    """What the reader reads in all documents."""
    found = set()
    for folder in FOLDERS:
        for path in sorted(folder.iterdir()):
            text = path.read_text("utf-8")
            title = text.split("\n", 1)[0].lstrip("# ")
            extraction = reader.extract(Chunk(path.name, path.name, title, text, 0, len(text)))
            for one in extraction.assertions:
                if one.label:
                    found.add(Relation(path.name, one.source, one.label, one.target))
    return found


def labels():
    """Whether each labelled relation is right."""
    lines = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    return {Relation(one["document"], one["source"], one["label"], one["target"]): one["right"]
            for one in lines}


if __name__ == "__main__":
    known, read = labels(), read_relations(LocalExtractor())
    judged = [known[one] for one in read if one in known]
    print(f"{len(known)} labelled, {sum(known.values())} right; {len(read)} read, {len(judged)} of "
          f"them labelled, precision {sum(judged) / len(judged):.3f}")
    for relation in sorted(read - known.keys()):
        print("not labelled:", *relation, sep=" | ")
